import Fastify from "fastify";
import { expect, it } from "vitest";
import { NoTurnError } from "../../../src/platform/db/outages.ts";
import { Refusal } from "../../../src/platform/errors.ts";
import { logFailure } from "../../../src/platform/http/log-failure.ts";

const fault = new Error("the disk is full");

it.each([
  ["too much to do", new Refusal("unavailable", "Come again.", 5), "warn"],
  ["no turn in time", new NoTurnError("no connection was free in time"), "warn"],
  [
    "no turn in time for a set of commands",
    Object.assign(new Refusal("unavailable"), { cause: new NoTurnError("too late") }),
    "warn",
  ],
  ["a fault below", Object.assign(new Refusal("unavailable"), { cause: fault }), "error"],
  ["a fault of ours", fault, "error"],
])("%s is logged at the right level", async (_what, error, level) => {
  const lines: string[] = [];
  const stream = { write: (line: string) => void lines.push(line) };
  const app = Fastify({ logger: { stream } }).get("/", async (request) => {
    logFailure(request, error, "failed");
    return "";
  });
  await app.inject("/");
  const levels = { warn: 40, error: 50 } as Record<string, number>;
  const line = lines.find((text) => text.includes(error.message))!;
  expect(JSON.parse(line)).toMatchObject({ level: levels[level] });
  expect(line.includes("stack")).toBe(level === "error");
  await app.close();
});
