import { type AddressInfo, connect } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { countConnections, startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_STALLED_SECONDS: "1" } });
});
afterAll(() => server.close());

it.each(["starting_after", "created_after", "created_before"])(
  "422 that names the field when %s is sent twice",
  async (name) => {
    const answer = await server.call("GET", `/users?${name}=2026-11-15&${name}=2026-11-16`);
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toEqual([
      { field: name, code: "record_invalid", message: "Send a string." },
    ]);
  },
);

it.each(["0000-01-01T00:00:00+00:01", "0000-12-31", "9999-12-31T23:59:59-00:01"])(
  "422 for %s, whose year in UTC is 0 or has no four digits",
  async (time) => {
    const at = encodeURIComponent(time);
    for (const path of [`/ledger/balances?at=${at}`, `/users?created_before=${at}`]) {
      const answer = await server.call("GET", path);
      expect(answer.status).toBe(422);
      expect(answer.body.errors).toMatchObject([{ code: "record_invalid" }]);
    }
  },
);

it("a client that reads nothing of its answers is disconnected", async () => {
  const open = countConnections(server);
  const { port } = server.app.server.server.address() as AddressInfo;
  const client = connect(port, "127.0.0.1").pause();
  // More than the buffers of both ends hold.
  const request = `GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  client.on("error", () => {}).write(request.repeat(100));
  await waitFor(async () => open() > 0);
  await waitFor(async () => open() === 0);
  client.destroy();
});
