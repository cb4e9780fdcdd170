import Type from "typebox";
import type { Clock, SandboxClock } from "../platform/clock.ts";
import { ADVANCE_MAX_MS } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import { Refusal } from "../platform/errors.ts";
import { compileRender } from "../platform/http/render.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { advanceClock } from "../platform/tasks/advance-clock.ts";

export type SandboxDeps = {
  database: Database;
  clock: Clock & SandboxClock;
  poke: () => void;
};

const TAG = "Sandbox";
const IDLE_MAX_MS = 30_000;

const ClockAnswer = Type.Object({
  clock: Type.Object({ now: Type.String({ format: "date-time" }), idle: Type.Boolean() }),
});
const writeClock = compileRender(ClockAnswer);

/** Routes that play the partners and move the time. They exist in sandbox mode only. */
export function addSandboxRoutes(addRoute: AddRoute, deps: SandboxDeps): void {
  addRoute({
    method: "GET",
    path: "/sandbox/clock",
    operation: "showSandboxClock",
    summary: "Show the sandbox's time",
    tag: TAG,
    answer: ClockAnswer,
    errors: [],
    handle: async ({ problems }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      await deps.clock.refresh();
      return writeClock({ clock: { now: deps.clock.now().toISOString(), idle: true } });
    },
  });

  addRoute({
    method: "POST",
    path: "/sandbox/clock",
    operation: "advanceSandboxClock",
    summary: "Move the sandbox's time forward",
    description: "Work that falls due on the way runs in order of its due time.",
    tag: TAG,
    body: Type.Object(
      { advance_ms: Type.Integer({ minimum: 0, maximum: ADVANCE_MAX_MS }) },
      { additionalProperties: false },
    ),
    body_example: { advance_ms: 60_000 },
    answer: ClockAnswer,
    errors: [],
    handle: async ({ body, problems }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      const { now, idle } = await advanceClock(deps, body.advance_ms, IDLE_MAX_MS);
      return writeClock({ clock: { now: now.toISOString(), idle } });
    },
  });
}
