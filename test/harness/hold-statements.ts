import pg from "pg";
import { vi } from "vitest";
import { currentCaller } from "../../src/platform/db/caller-context.ts";

export type HeldStatements = {
  /** How many connections wait for their statements. */
  connections(): number;
  letGo(): void;
};

/**
 * A database that answers nothing to callers, until it is let go. It answers the service's own
 * statements, and those of callers whose name contains `free`.
 */
export function holdStatements(free?: string): HeldStatements {
  const held = new Set<unknown>();
  const gone = Promise.withResolvers<void>();
  const send = pg.Client.prototype.query as (...given: unknown[]) => unknown;
  const spy = vi.spyOn(pg.Client.prototype, "query");
  spy.mockImplementation(function (this: unknown, ...given: unknown[]) {
    const caller = currentCaller();
    const is_free = !caller || (free !== undefined && caller.name.includes(free));
    if (is_free) return send.apply(this, given);
    held.add(this);
    return gone.promise.then(() => send.apply(this, given));
  } as never);
  return {
    connections: () => held.size,
    letGo: () => {
      spy.mockRestore();
      gone.resolve();
    },
  };
}
