// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from "vitest";
import { pace } from "./pace";

afterEach(() => vi.restoreAllMocks());

test("what waits for a frame when the tab is hidden is handed on at once, and so is what follows", async () => {
  vi.spyOn(window, "requestAnimationFrame").mockImplementation(() => 1); // a hidden tab gets no frames
  vi.spyOn(globalThis, "requestAnimationFrame").mockImplementation(() => 1);
  const hidden = vi.spyOn(document, "hidden", "get").mockReturnValue(false);
  const taken: number[] = [];
  const paced = pace<number>((items) => taken.push(...items));
  paced.add(1, 2);
  expect(taken).toEqual([]);
  hidden.mockReturnValue(true);
  document.dispatchEvent(new Event("visibilitychange"));
  expect(taken).toEqual([1, 2]);
  paced.add(3);
  await vi.waitFor(() => expect(taken).toEqual([1, 2, 3]));
});
