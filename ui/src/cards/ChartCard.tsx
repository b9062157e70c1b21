import { ChartLine } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { isRecord } from "../parts/Args";
import { TextButton } from "../parts/Button";
import s from "./cards.module.css";
import { chartOf, type ChartType } from "./chartData";
import { Frame, Outcome } from "./Frame";
import { Rows } from "./Result";
import type { Card, CardProps } from "./types";

const Chart = lazy(() => import("./Chart"));

function View({ call }: CardProps) {
  const chart = chartOf(call.args);
  const [asTable, setTable] = useState(chart.type === "table");
  const [type, setType] = useState<ChartType | null>(null);
  const shown = type ?? chart.type;
  const failed = call.status === "error" || call.status === "expired" || call.status === "cancelled";
  return (
    <Frame
      icon={<ChartLine size={16} aria-hidden />}
      title={chart.title}
      label={`Chart: ${chart.title}`}
      call={call}
      end={
        chart.type !== "table" && (
          <>
            {!asTable && (
              <select aria-label="Kind of chart" value={shown} onChange={(event) => setType(event.target.value as ChartType)}>
                <option value="line">Line</option>
                <option value="bar">Bars</option>
                <option value="pie">Pie</option>
              </select>
            )}
            <TextButton aria-pressed={asTable} onClick={() => setTable(!asTable)}>
              {asTable ? "Show chart" : "Show data"}
            </TextButton>
          </>
        )
      }
    >
      {failed ? (
        <Outcome call={call} words="" />
      ) : asTable ? (
        <Rows rows={chart.rows} />
      ) : (
        <Suspense fallback={<div className={s.chart} />}>{chart.rows.length > 0 ? <Chart chart={{ ...chart, type: shown }} /> : <div className={s.chart} />}</Suspense>
      )}
    </Frame>
  );
}

export const chartCard: Card = {
  summary: (call) => chartOf(call.args).title,
  View,
  accepts: (args) => isRecord(args) && chartOf(args).rows.length > 0,
};
