import { afterAll, beforeAll, expect, it } from "vitest";
import { updateAccountEnabled } from "../../src/apps/store.ts";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { addApp, emit, idle, readEvents } from "./webhook-fixture.ts";

let server: TestServer;
let receiver: Receiver;
beforeAll(async () => {
  server = await startTestServer();
  receiver = await startReceiver();
});
afterAll(async () => {
  await server.close();
  await receiver.close();
});

const APPS = 26;
const REPEATS = 5;

type Delivery = { id: string; attempts: { number: number }[] };

it("answers about deliveries do not grow with applications and attempts", async () => {
  const { account_id, key } = await server.addAccount("Many applications");
  const { database, clock } = server.core;
  await database.transaction(async (tx) => updateAccountEnabled(tx, account_id, clock.now()));
  for (let index = 0; index < APPS; index += 1) {
    await addApp(server, { webhook_url: `${receiver.url}/many-${index}` }, key);
  }
  await emit(server, { account_id });
  await idle(server);
  const [event] = await readEvents(server, key);
  const path = `/webhook_events/${event.id}`;
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    const again = await server.call("POST", `${path}/redeliver`, {}, { key });
    expect(again.body).toMatchObject({ has_more: true });
    expect(again.body.deliveries).toHaveLength(25);
    await idle(server);
  }
  const list = async (limit: number): Promise<Delivery[]> => {
    const url = `${path}/deliveries?limit=${limit}`;
    return (await server.call("GET", url, undefined, { key })).body.deliveries;
  };
  const [newest] = await list(1);
  expect(newest!.attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6]);
  // 100 attempts on 26 deliveries.
  const all = await list(100);
  expect(all).toHaveLength(APPS);
  for (const { attempts } of all) expect(attempts.map(({ number }) => number)).toEqual([4, 5, 6]);
});
