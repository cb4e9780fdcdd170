import { afterAll, beforeAll, expect, it } from "vitest";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { addApp, emit } from "./webhook-fixture.ts";

let server: TestServer;
let receiver: Receiver;
beforeAll(async () => {
  [server, receiver] = await Promise.all([startTestServer(), startReceiver()]);
});
afterAll(async () => {
  await receiver.close();
  await server.close();
});

it("forty hanging endpoints do not delay a working one", async () => {
  receiver.answer(({ path }) => (path.startsWith("/hook/hang") ? "hang" : 200));
  const isMet = (path: string) => receiver.received.some((got) => got.path === `/hook/${path}`);
  for (let made = 1; made <= 40; made += 1) {
    await addApp(server, { webhook_url: `${receiver.url}/hang/${made}` });
    await emit(server, {});
    await waitFor(() => isMet(`hang/${made}`));
  }
  await addApp(server, { webhook_url: `${receiver.url}/well` });
  const begun_ms = performance.now();
  await emit(server, {});
  await waitFor(() => isMet("well"));
  expect(performance.now() - begun_ms).toBeLessThan(2_000);
});
