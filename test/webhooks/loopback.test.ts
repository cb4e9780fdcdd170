import { afterAll, beforeAll, expect, it } from "vitest";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { addApp, deliveriesOf, emit, readEvents } from "./webhook-fixture.ts";

let server: TestServer;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  server = await startTestServer({ without_worker: true });
});
afterAll(async () => {
  await server.close();
  await receiver.close();
});

it.each<[string, Record<string, string>]>([
  ["listens elsewhere", { HOST: "0.0.0.0" }],
  ["has a public URL", { SLIPROAD_PUBLIC_URL: "https://ramp.example" }],
  ["stands behind a proxy", { SLIPROAD_TRUSTED_PROXIES: "10.0.0.1" }],
])("nothing is sent to loopback once the service %s", async (_, environment) => {
  const webhook_url = `${receiver.url}/hook`;
  const app = await addApp(server, { webhook_url });
  const open = await startTestServer({ beside: server, environment });
  try {
    const created = await open.call("POST", "/apps", { app: { name: "New", webhook_url } });
    expect(created.body.errors).toMatchObject([
      { field: "app.webhook_url", code: "record_invalid" },
    ]);
    const [sent] = await emit(open, {});
    const { record_id } = sent!;
    const delivery = await waitFor(async () => {
      const event = (await readEvents(open)).find((one) => one.record_id === record_id);
      const deliveries = event ? await deliveriesOf(open, event.id) : [];
      const own = deliveries.find((one: { app_id: string }) => one.app_id === app.id);
      return own?.attempts[0] && own;
    });
    expect(delivery.attempts).toMatchObject([
      { status: null, error: expect.stringContaining("is not a public address") },
    ]);
    expect(receiver.received).toEqual([]);
  } finally {
    await open.app.close();
  }
});
