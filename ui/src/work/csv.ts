// A table as a file for spreadsheets. Pure.
export type Cell = string | number | null | undefined;

/** Names are strangers' words: what a spreadsheet would take for a formula gets a quote before it. */
function cell(value: Cell): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function csv(rows: readonly (readonly Cell[])[]): string {
  return `${rows.map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;
}

export function download(name: string, rows: readonly (readonly Cell[])[]): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(["\ufeff", csv(rows)], { type: "text/csv;charset=utf-8" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000);
}
