import { describe, expect, it } from "vitest";
import { csv } from "./csv";

describe("a table as a file", () => {
  it("quotes what would break a row, and disarms formulas", () => {
    expect(csv([["name", "cost"], ['A "b", c', 1.5], ["=HYPERLINK(1)", -2], ["two\nlines", null]])).toBe(
      "name,cost\r\n\"A \"\"b\"\", c\",1.5\r\n'=HYPERLINK(1),-2\r\n\"two\nlines\",\r\n",
    );
  });
});
