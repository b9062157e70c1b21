// What becomes of answers that are not whole.
import { afterEach, expect, test, vi } from "vitest";
import { api, Problem } from "./client";

afterEach(() => vi.unstubAllGlobals());

function answers(body: BodyInit | null, status = 200): void {
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(body, { status })));
}

function cutOff(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"items": ['));
      controller.error(new TypeError("network error"));
    },
  });
}

async function failure(): Promise<Problem> {
  return api.spaces().then(
    () => expect.unreachable(),
    (error: unknown) => error as Problem,
  );
}

test.each([["cut off", cutOff()], ["half there", '{"items": [']])("an answer that is %s counts as none", async (_, body) => {
  answers(body);
  const error = await failure();
  expect(error).toBeInstanceOf(Problem);
  expect([error.status, error.passes]).toEqual([0, true]);
});

test("a refusal without a body still says its status", async () => {
  answers("Bad gateway", 502);
  expect(await failure()).toMatchObject({ status: 502, passes: true });
});
