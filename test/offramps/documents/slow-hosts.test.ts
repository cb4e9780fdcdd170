import { afterAll, beforeAll, expect, it } from "vitest";
import { addApprovedUser, addPaymentDetail, addQuote } from "../../harness/ramp.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { PDF, startReceiver } from "./document-fixture.ts";

let server: TestServer;
let receiver: Awaited<ReturnType<typeof startReceiver>>;

beforeAll(async () => {
  receiver = await startReceiver({
    "/silent.pdf": () => {},
    "/invoice.pdf": (answer) => answer.end(PDF),
  });
  server = await startTestServer();
});
afterAll(async () => {
  receiver.close();
  await server.close();
});

async function addOfframps(count: number, path: string, key: string): Promise<string[]> {
  const call: TestServer["call"] = (method, path, body) => server.call(method, path, body, { key });
  const user_id = await addApprovedUser(server, key);
  const payment_detail_id = await addPaymentDetail({ ...server, call }, user_id, "eur");
  const quote_id = await addQuote({ ...server, call }, user_id);
  const item = {
    payment_detail_id,
    destination_amount: 100,
    destination_currency: "eur",
    supporting_document_attributes: { submitted_url: `${receiver.url}${path}` },
  };
  const url = `/users/${user_id}/quotes/${quote_id}/offramps`;
  const made = await call("POST", url, { offramps: Array(count).fill(item) });
  expect(made.status, made.text).toBe(200);
  return made.body.offramps.map(({ id }: { id: string }) => id);
}

it("hosts of one account that never answer delay no document of another", async () => {
  const other = await server.addAccount("Other");
  await addOfframps(200, "/silent.pdf", server.key);
  await waitFor(() => receiver.tries["/silent.pdf"]! >= 40);
  const [id] = await addOfframps(1, "/invoice.pdf", other.key);
  const begun_ms = performance.now();
  await waitFor(
    async () =>
      (await server.call("GET", `/offramps/${id}/supporting-documents`, undefined, other))
        .status === 200,
  );
  expect(performance.now() - begun_ms).toBeLessThan(8_000);
  expect(receiver.tries["/silent.pdf"]).toBeLessThan(100);
});
