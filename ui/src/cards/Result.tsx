// A result of any shape: rows as a table, objects as names and values, texts as they are.
import * as exact from "../api/exact";
import { Args, Exact, isRecord } from "../parts/Args";
import s from "./cards.module.css";

const MOST_ROWS = 200;

export default function Result({ value }: { value: unknown }) {
  if (typeof value === "string") return <Args args={{ text: value }} />;
  if (Array.isArray(value) && value.length && value.every(isRecord)) return <Rows rows={value} />;
  return <Args args={isRecord(value) ? value : { value }} />;
}

export function Rows({ rows }: { rows: Record<string, unknown>[] }) {
  const names = [...new Set(rows.slice(0, MOST_ROWS).flatMap((row) => Object.keys(row)))].slice(0, 12);
  return (
    <div className={s.tablebox} tabIndex={0} role="region" aria-label="Table">
      <table className={s.table}>
        <thead>
          <tr>
            {names.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST_ROWS).map((row, at) => (
            <tr key={at}>
              {names.map((name) => (
                <td key={name}>
                  <Exact text={row[name] === undefined ? "" : typeof row[name] === "object" ? exact.text(row[name]) : String(row[name])} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
