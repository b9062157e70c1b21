// Drawn charts, loaded with the first one. Colours come with dashes and names, never alone.
import { Bar, BarChart, CartesianGrid, Cell, Line, LineChart, Pie, PieChart, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import s from "./cards.module.css";
import type { ChartData } from "./chartData";

const DASHES = ["", "5 4", "2 3", "8 3 2 3", "1 3", "10 4"];
const colour = (at: number): string => `var(--chart-${(at % 6) + 1})`;
const tick = { fill: "var(--muted)", fontSize: 12 };
const tip = { background: "var(--raised)", border: "1px solid var(--line)", borderRadius: 8, color: "var(--text)" };

export default function Chart({ chart }: { chart: ChartData }) {
  const { rows, series, label, type } = chart;
  const frame = { data: rows, margin: { left: -12, right: 8, top: 6, bottom: -4 }, accessibilityLayer: true };
  const axes = (
    <>
      <CartesianGrid stroke="var(--line)" vertical={false} />
      <XAxis dataKey={label} tick={tick} stroke="var(--line)" tickLine={false} />
      <YAxis tick={tick} stroke="none" />
      <Tooltip contentStyle={tip} cursor={{ fill: "var(--hover)", stroke: "var(--line-strong)" }} isAnimationActive={false} />
    </>
  );
  const first = series[0] ?? "value";
  return (
    <figure>
      <div className={s.chart} role="img" aria-label={`${chart.title}: ${type} chart of ${series.join(", ")} by ${label}, ${rows.length} points. “Show data” has the figures.`}>
        <ResponsiveContainer width="100%" height="100%">
          {type === "bar" ? (
            <BarChart {...frame}>
              {axes}
              {series.map((name, at) => (
                <Bar key={name} dataKey={name} fill={colour(at)} isAnimationActive={false} radius={3} maxBarSize={48} />
              ))}
            </BarChart>
          ) : type === "pie" ? (
            <PieChart>
              <Pie data={rows} dataKey={first} nameKey={label} outerRadius="88%" innerRadius="45%" isAnimationActive={false} stroke="var(--raised)">
                {rows.map((_, at) => (
                  <Cell key={at} fill={colour(at)} />
                ))}
              </Pie>
              <Tooltip contentStyle={tip} isAnimationActive={false} />
            </PieChart>
          ) : (
            <LineChart {...frame}>
              {axes}
              {series.map((name, at) => (
                <Line key={name} dataKey={name} stroke={colour(at)} strokeDasharray={DASHES[at % 6]} strokeWidth={2.25} dot={rows.length < 40 ? { r: 2.5, strokeDasharray: "none" } : false} isAnimationActive={false} />
              ))}
            </LineChart>
          )}
        </ResponsiveContainer>
      </div>
      {(series.length > 1 || type === "pie") && (
        <ul className={s.legend}>
          {(type === "pie" ? rows.slice(0, 12).map((row) => `${String(row[label])} ${String(row[first])}`) : series).map((name, at) => (
            <li key={name}>
              <i style={{ background: colour(at) }} />
              {name}
            </li>
          ))}
        </ul>
      )}
    </figure>
  );
}
