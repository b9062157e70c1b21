// The shapes in which agents give data for a chart, as one: rows with a label and a number per series. Pure.
import { isRecord } from "../parts/Args";

export type ChartType = "line" | "bar" | "pie" | "table";
export type ChartData = { title: string; type: ChartType; label: string; series: string[]; rows: Record<string, unknown>[] };

const TYPES = new Set(["line", "bar", "pie", "table"]);
const MOST_ROWS = 500;
const MOST_SERIES = 6;

export function chartOf(args: Record<string, unknown>): ChartData {
  const title = typeof args.title === "string" ? args.title : "Chart";
  const rows = rowsOf(args).slice(0, MOST_ROWS);
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const numbers = names.filter((name) => rows.some((row) => typeof row[name] === "number"));
  const label = names.find((name) => !numbers.includes(name)) ?? names[0] ?? "label";
  const series = numbers.filter((name) => name !== label).slice(0, MOST_SERIES);
  const asked = TYPES.has(String(args.type)) ? (args.type as ChartType) : Array.isArray(args.bars) ? "bar" : series.length ? "line" : "table";
  return { title, type: series.length ? asked : "table", label, series, rows };
}

function rowsOf(args: Record<string, unknown>): Record<string, unknown>[] {
  const given = args.rows ?? args.bars ?? args.data;
  if (Array.isArray(given)) {
    if (given.every(isRecord)) return given as Record<string, unknown>[];
    if (given.every((row) => Array.isArray(row))) return (given as unknown[][]).map(([label, ...values]) => ({ label, ...Object.fromEntries(values.map((value, at) => [`series ${at + 1}`, value])) }));
  }
  return Array.isArray(args.series) ? joined(args.series) : [];
}

/** `series: [{name, points: [[x, y]] | [{x, y}] | values: […]}]` as rows. */
function joined(series: unknown[]): Record<string, unknown>[] {
  const rows = new Map<string, Record<string, unknown>>();
  series.filter(isRecord).slice(0, MOST_SERIES).forEach((each, at) => {
    const name = String(each.name ?? each.label ?? `series ${at + 1}`);
    const points = (each.points ?? each.data ?? each.values ?? []) as unknown[];
    if (!Array.isArray(points)) return;
    points.forEach((point, index) => {
      const [x, y] = Array.isArray(point) ? point : isRecord(point) ? [point.x ?? point.label, point.y ?? point.value] : [index + 1, point];
      const key = String(x);
      rows.set(key, { ...(rows.get(key) ?? { label: key }), [name]: y });
    });
  });
  return [...rows.values()];
}
