import { randomBytes, randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { WELL } from "../../src/apps/model.ts";
import type { OutboundAnswer } from "../../src/partners/outbound-http/outbound-request.ts";
import type { Task } from "../../src/platform/tasks/tasks.ts";
import type { DuePage, OpenEndpoint } from "../../src/webhooks/delivery/due-pages.ts";
import type { EndpointPoll, Polled } from "../../src/webhooks/delivery/endpoint-poll.ts";
import { EndpointSender } from "../../src/webhooks/delivery/endpoint-sender.ts";
import { LongQueues } from "../../src/webhooks/delivery/long-queues.ts";
import type { DeliveryOutcome } from "../../src/webhooks/delivery/outcome-store.ts";
import type { DeliverDeps, Turn } from "../../src/webhooks/delivery/sender-model.ts";
import { readSecret } from "../../src/webhooks/delivery/sign.ts";
import type { DueDelivery } from "../../src/webhooks/delivery/store.ts";
import { waitFor } from "../harness/wait-for.ts";

/** A sender with controlled parts, so that timing-dependent cases can be tested. */
const task = { account_id: randomUUID(), record_id: randomUUID() } as Task;

const ENDPOINT = {
  ...WELL,
  account_id: task.account_id,
  id: task.record_id,
  webhook_url: "http://127.0.0.1/hook",
  webhook_state: "active",
  webhook_version: 1,
  webhooks_enabled_at: new Date(),
  webhook_secret: randomBytes(8),
  secret: readSecret("whsec_bm90IGEgc2VjcmV0"),
  next_secret: null,
  headers: {},
  account_key: randomBytes(32),
} as unknown as OpenEndpoint;

const ANSWER: OutboundAnswer = {
  status: 200,
  headers: {},
  body: Buffer.from("ok"),
  truncated: false,
};

function openSender(loadDue: (calls: number) => DuePage | Promise<DuePage>) {
  const long_queues = new LongQueues();
  const answers: ((answer: OutboundAnswer) => void)[] = [];
  const written: DeliveryOutcome[] = [];
  let calls = 0;
  let polled: Polled | undefined;
  const deps = {
    clock: { now: () => new Date(), difference_ms: () => 0 },
    sender: {
      hasCapacity: () => true,
      send: () => new Promise((resolve) => answers.push(resolve)),
    },
    random: () => 0,
    isStopping: () => false,
  } as unknown as DeliverDeps;
  const sender = new EndpointSender(deps, task, {
    loadDue: async () => {
      calls += 1;
      return loadDue(calls);
    },
    recorder: {
      write: async (turn: Turn) => {
        const outcomes = turn.outcomes;
        turn.outcomes = [];
        written.push(...outcomes);
        return { outcomes, followed: new Set() };
      },
      end: async (turn: Turn) => {
        turn.all_wait = true;
        return true;
      },
      isLost: () => false,
    },
    poll: {
      add: (added: Polled) => {
        polled = added;
      },
      delete: () => {},
    } as unknown as EndpointPoll,
    long_queues,
    isHeld: () => true,
  });
  return { sender, answers, written, calls: () => calls, polled: () => polled!, long_queues };
}

function pageOf(endpoint: OpenEndpoint | undefined, count: number): DuePage {
  const open = () => ({ body: Buffer.from("{}"), missing: null });
  const deliveries = Array.from({ length: count }, () => ({
    delivery: {
      account_id: task.account_id,
      app_id: task.record_id,
      id: randomUUID(),
      event_id: randomUUID(),
      record_id: randomUUID(),
      sequence: 1,
      subject_id: null,
      attempts: 0,
      attempts_before: 0,
      due_at: new Date().toISOString(),
    } as DueDelivery,
    open,
  }));
  const page = { end: null, looked_at: 0, due_until: new Date(), erasures: 0n };
  return { endpoint, deliveries, is_last: false, ...page };
}

it("the outcome of a request open when the application was deleted is recorded", async () => {
  const { sender, answers, written, calls } = openSender((call) =>
    call === 1 ? pageOf(ENDPOINT, 3) : pageOf(undefined, 0),
  );
  const sent = sender.sendDue();
  await waitFor(() => calls() === 2 && answers.length === 3);
  for (const answer of answers) answer(ANSWER);
  await sent;
  expect(written.map((outcome) => outcome.status)).toEqual(["delivered", "delivered", "delivered"]);
});

it("more due deliveries are loaded while one request hangs, but not after the turn", async () => {
  const { sender, answers, written, calls, polled } = openSender((call) => ({
    ...pageOf(ENDPOINT, call <= 2 ? 1 : 5),
    is_last: true,
  }));
  const sent = sender.sendDue();
  await waitFor(() => answers.length === 1);
  expect(polled().idleAfter()).not.toBeNull();
  polled().wake();
  await waitFor(() => answers.length === 2);
  for (const answer of answers) answer(ANSWER);
  await sent;
  expect(polled().idleAfter()).toBeNull();
  // Queried during the turn, answered after it: another worker may be sending by now.
  polled().wake();
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
  expect({ calls: calls(), sent: answers.length, written: written.length }).toEqual({
    calls: 2,
    sent: 2,
    written: 2,
  });
});

it("loads ahead for a working endpoint, and not for a failing one", async () => {
  const failing = { ...ENDPOINT, failures_in_a_row: 3, failing_since: new Date() };
  for (const [endpoint, pages] of [
    [ENDPOINT, 25],
    [failing, 1],
  ] as const) {
    const { sender, answers, calls } = openSender((call) =>
      call > 40 ? { ...pageOf(endpoint, 0), is_last: true } : pageOf(endpoint, 24),
    );
    void sender.sendDue();
    await waitFor(() => answers.length > 0);
    // Loading ahead would have happened by now: the pages are available at once.
    for (let turn = 0; turn < 200; turn += 1) await Promise.resolve();
    expect(calls()).toBeGreaterThanOrEqual(pages === 1 ? 1 : 15);
    expect(calls()).toBeLessThanOrEqual(pages);
  }
});

it("a turn begins with what the one before it had loaded and not sent", async () => {
  const ordered = { ...ENDPOINT, is_ordered: true };
  const page = pageOf(ordered, 20);
  const { sender, answers, polled, long_queues } = openSender(() => ({ ...page, is_last: true }));
  const sent = sender.sendDue();
  await waitFor(() => answers.length === 8);
  polled().look({ version: 2, erasures: 0n }, performance.now());
  for (const answer of answers) answer(ANSWER);
  await sent;
  await sender.end();
  const { record_ids } = long_queues.begin(sender.key);
  expect(record_ids).toEqual(page.deliveries.slice(8).map(({ delivery }) => delivery.record_id));
});

it("what arrives while a page is read that still shows it is not sent again", async () => {
  const page = { ...pageOf(ENDPOINT, 1), is_last: true };
  const late = Promise.withResolvers<DuePage>();
  const pages = [page, late.promise];
  const none = { ...pageOf(ENDPOINT, 0), is_last: true };
  const { sender, answers, written, polled } = openSender((call) => pages[call - 1] ?? none);
  const sent = sender.sendDue();
  await waitFor(() => answers.length === 1);
  polled().wake();
  answers[0]!(ANSWER);
  await waitFor(() => written.length === 1);
  late.resolve(page);
  await sent;
  expect(answers).toHaveLength(1);
});
