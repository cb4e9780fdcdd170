import { describe, expect, it } from "vitest";
import { healthAfter } from "../../src/webhooks/delivery/endpoint-health.ts";
import { nextAttemptAt, readRetryAfter } from "../../src/webhooks/delivery/retry-schedule.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "./webhook-fixture.ts";

const NOW = new Date("2026-11-15T12:00:00Z");
const delayOf = (failures: number, random: number, retry_after_ms = 0) => {
  const at = nextAttemptAt(failures, NOW, random, retry_after_ms);
  return at && at.getTime() - NOW.getTime();
};

describe("the schedule of retries", () => {
  it("is 5 s, 5 m, 30 m, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h, and then ends", () => {
    const delays = Array.from({ length: 10 }, (_, index) => delayOf(index + 1, 0));
    const hours = [2, 5, 10, 14, 20, 24].map((count) => count * HOUR_MS);
    expect(delays).toEqual([5_000, 5 * MINUTE_MS, 30 * MINUTE_MS, ...hours, null]);
  });

  it("is lengthened by at most a tenth, and never shortened", () => {
    expect(delayOf(1, 0)).toBe(5_000);
    expect(delayOf(1, 1)).toBe(5_500);
    expect(delayOf(9, 1)).toBe(26.4 * HOUR_MS);
  });

  it("can be lengthened by Retry-After, to a day at most, but not shortened", () => {
    expect(delayOf(1, 0, MINUTE_MS)).toBe(MINUTE_MS);
    expect(delayOf(2, 0, 1_000)).toBe(5 * MINUTE_MS);
    expect(delayOf(1, 0, 400 * DAY_MS)).toBe(DAY_MS);
  });

  it("Retry-After counts on 429 and 503, in seconds or as a date", () => {
    expect(readRetryAfter(429, "120", NOW)).toBe(120_000);
    expect(readRetryAfter(503, "Sun, 15 Nov 2026 12:02:00 GMT", NOW)).toBe(120_000);
    expect(readRetryAfter(500, "120", NOW)).toBe(0);
    expect(readRetryAfter(503, "soon", NOW)).toBe(0);
    expect(readRetryAfter(503, "Sun, 15 Nov 2026 11:00:00 GMT", NOW)).toBe(0);
    expect(readRetryAfter(503, undefined, NOW)).toBe(0);
    expect(readRetryAfter(503, "9".repeat(400), NOW)).toBe(DAY_MS);
  });

  it.each([
    ["9999999999", DAY_MS],
    ["9".repeat(20), DAY_MS],
    ["Wed, 21 Oct 2099 07:28:00 GMT", DAY_MS],
    ["3600, 3600", HOUR_MS],
    ["60,3600 ", HOUR_MS],
    ["+3600", 0],
    ["-5", 0],
    ["1.5", 0],
    ["2099", 2_099_000],
    ["2099-01-01", 0],
    ["3600,", 0],
    ["", 0],
  ])("Retry-After %j means a wait of %d ms", (header, wait_ms) => {
    expect(readRetryAfter(503, header, NOW)).toBe(wait_ms);
  });
});

describe("an endpoint's health", () => {
  const WELL = {
    failing_since: null,
    failed_at: null,
    failures_in_a_row: 0,
    circuit_failures: 0,
    circuit_until: null,
  };
  const FAILURE = { is_success: false, is_gone: false };
  const SUCCESS = { is_success: true, is_gone: false };
  const ago = (ms: number) => new Date(NOW.getTime() - ms);
  const failed = (failures_in_a_row: number) => ({ ...WELL, failures_in_a_row });

  it("is not disabled before five days of failures, and is then", () => {
    const failing = (ms: number) => ({ ...WELL, failing_since: ago(ms), failed_at: ago(1) });
    expect(healthAfter(failing(5 * DAY_MS - 1), FAILURE, false, NOW).disable_reason).toBeNull();
    expect(healthAfter(failing(5 * DAY_MS), FAILURE, false, NOW).disable_reason).toMatch("five");
  });

  it("restarts the five days after ten days without attempts", () => {
    const silent = (ms: number) => ({
      ...WELL,
      failing_since: ago(30 * DAY_MS),
      failed_at: ago(ms),
    });
    const { health, disable_reason } = healthAfter(silent(10 * DAY_MS), FAILURE, false, NOW);
    expect({ since: health?.failing_since, disable_reason }).toEqual({
      since: NOW,
      disable_reason: null,
    });
    expect(healthAfter(silent(10 * DAY_MS - 1), FAILURE, false, NOW).disable_reason).toMatch(
      "five",
    );
  });

  it("one success resets all failures", () => {
    const before = {
      failing_since: ago(DAY_MS),
      failed_at: NOW,
      failures_in_a_row: 4,
      circuit_failures: 3,
      circuit_until: NOW,
    };
    expect(healthAfter(before, SUCCESS, false, NOW)).toEqual({
      health: WELL,
      disable_reason: null,
      is_opened: false,
    });
  });

  it("five failures in a row open the circuit, a failed trial opens it for longer", () => {
    expect(healthAfter(failed(3), FAILURE, false, NOW).is_opened).toBe(false);
    const first = healthAfter(failed(4), FAILURE, false, NOW);
    expect(first.health?.circuit_until).toEqual(new Date(NOW.getTime() + 30_000));
    const second = healthAfter(first.health!, FAILURE, false, NOW);
    expect(second.health?.circuit_until).toEqual(new Date(NOW.getTime() + 60_000));
    const late = healthAfter({ ...first.health!, circuit_failures: 40 }, FAILURE, false, NOW);
    expect(late.health?.circuit_until).toEqual(new Date(NOW.getTime() + 30 * MINUTE_MS));
  });
});
