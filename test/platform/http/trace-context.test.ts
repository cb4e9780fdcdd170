import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { traceOf } from "../../../src/platform/http/trace-context.ts";
import { addApprovedUser, addPaymentDetail } from "../../harness/ramp.ts";
import { startReceiver } from "../../harness/receiver.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { addApp, emit } from "../../webhooks/webhook-fixture.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

let server: TestServer;
const lines: Record<string, unknown>[] = [];
beforeAll(async () => {
  const log_destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  server = await startTestServer({ log_destination });
});
afterAll(() => server.close());

describe("traceparent", () => {
  it("of a request is in the log lines of that request", async () => {
    const headers = { traceparent: `00-${TRACE}-${SPAN}-01` };
    const answer = await server.call("GET", "/users", undefined, { headers });
    const request_id = answer.headers.get("x-request-id");
    const line = await waitFor(() => lines.find((found) => found.request_id === request_id));
    expect(line).toMatchObject({ trace_id: TRACE, parent_span_id: SPAN, route: "/users" });
  });

  it.each([
    ["absent", undefined],
    ["no trace", "hello"],
    ["all zeros", `00-${"0".repeat(32)}-${SPAN}-01`],
    ["of the forbidden version", `ff-${TRACE}-${SPAN}-01`],
    ["longer than any", `00-${TRACE}-${SPAN}-01${"x".repeat(200)}`],
  ])("that is %s adds no trace id to the log", (_name, header) => {
    expect(traceOf(header)).toEqual({});
  });

  it("is sent with every webhook: one trace for all attempts of an event", async () => {
    const receiver = await startReceiver();
    try {
      let answers = 0;
      receiver.answer(() => (answers++ === 0 ? 500 : 200));
      await addApp(server, { webhook_url: receiver.url });
      await emit(server, {});
      await receiver.waitFor(1);
      await server.call("POST", "/sandbox/clock", { advance_ms: 60_000 });
      const traces = (await receiver.waitFor(2)).map(({ headers }) => String(headers.traceparent));
      const ids = traces.map((text) => traceOf(text));
      const event_id = String(receiver.received[0]!.headers["webhook-id"]);
      expect(ids.map(({ trace_id }) => trace_id)).toEqual([
        event_id.replaceAll("-", ""),
        event_id.replaceAll("-", ""),
      ]);
      expect(ids[0]!.parent_span_id).not.toBe(ids[1]!.parent_span_id);
      const metrics = await waitFor(async () => {
        const { text } = await server.call("GET", "/metrics", undefined, { key: null });
        return text.includes('sliproad_webhook_attempts_total{result="delivered"} 1') && text;
      });
      expect(metrics).toContain('sliproad_webhook_attempts_total{result="retried"} 1');
    } finally {
      await receiver.close();
    }
  });

  it("of a request is sent with the webhooks that it causes, with a new span", async () => {
    const receiver = await startReceiver();
    try {
      await addApp(server, { webhook_url: receiver.url, events: ["payment_detail_update"] });
      const user_id = await addApprovedUser(server);
      const id = await addPaymentDetail(server, user_id, "eur");
      const path = `/users/${user_id}/payment_details/${id}/deactivate`;
      const headers = { traceparent: `00-${TRACE}-${SPAN}-01` };
      const answer = await server.call("PATCH", path, undefined, { headers });
      expect(answer.status, answer.text).toBe(200);
      const [webhook] = await receiver.waitFor(1);
      const sent = traceOf(webhook!.headers.traceparent);
      expect(sent.trace_id).toBe(TRACE);
      expect(sent.parent_span_id).not.toBe(SPAN);
    } finally {
      await receiver.close();
    }
  });
});
