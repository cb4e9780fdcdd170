import { afterAll, beforeAll, expect, it } from "vitest";
import { startCommand } from "../harness/command-line.ts";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { addApp, emit } from "./webhook-fixture.ts";

let server: TestServer;
let receiver: Receiver;
beforeAll(async () => {
  server = await startTestServer();
  receiver = await startReceiver();
});
afterAll(async () => {
  await receiver.close();
  await server.close();
});

it("kill -9 of a worker in mid-delivery loses nothing, and repeats nothing acknowledged", async () => {
  await server.app.worker.stop();
  const { database } = server.db;
  const worker = startCommand(["worker"], {
    DATABASE_URL: server.db.url,
    SLIPROAD_DATA_DIR: server.data_dir,
    SLIPROAD_LOG_LEVEL: "silent",
    SLIPROAD_WORKER_PORT: "0",
  });
  const delivered = async () => {
    const [row] = await database.query<{ count: number }>(
      "select count(*)::int as count from webhook_deliveries where status = 'delivered'",
    );
    return row!.count;
  };
  let survivor: TestServer | undefined;
  try {
    await addApp(server, { webhook_url: receiver.url });
    const first = await emit(server, ...Array.from({ length: 10 }, () => ({})));
    await waitFor(async () => (await delivered()) === 10, 60_000);
    receiver.answer(() => "hang");
    const second = await emit(server, ...Array.from({ length: 10 }, () => ({})));
    await receiver.waitFor(11);
    worker.child.kill("SIGKILL");
    await worker.ended;
    receiver.answer(() => 200);
    // As if half a minute had passed: the dead worker's leases are not renewed.
    await database.query("update tasks set leased_until = leased_until - interval '1 minute'");
    survivor = await startTestServer({ beside: server });
    await waitFor(async () => (await delivered()) === 20);
    const acknowledged = receiver.received.filter((got) => got.status === 200);
    const records = acknowledged.map((got) => got.body.invoice.id).sort();
    expect(records).toEqual([...first, ...second].map((event) => event.record_id).sort());
  } finally {
    worker.child.kill("SIGKILL");
    await survivor?.close();
  }
}, 90_000);
