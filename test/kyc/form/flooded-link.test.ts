import { afterAll, beforeAll, expect, it } from "vitest";
import { lockRow } from "../../../src/platform/db/rows.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { addUser, expectFine, LIVING, openLink, PageVisitor } from "../kyc-fixture.ts";

let server: TestServer;
beforeAll(async () => {
  const environment = {
    SLIPROAD_DATABASE_CONNECTIONS: "8",
    SLIPROAD_TRUSTED_PROXIES: "127.0.0.1",
  };
  server = await startTestServer({ environment });
});
afterAll(() => server.close());

async function openFor({ key }: { key: string }) {
  const user_id = await addUser(server, {}, key);
  const page = new PageVisitor(server);
  await expectFine(page.open(await openLink(server, user_id, key)));
  return { user_id, page };
}

it("one link, sent from many networks, does not keep applicants of other accounts waiting", async () => {
  const flooding = await server.addAccount("Flooding");
  const sent_link = await openFor(flooding);
  const other = await openFor(await server.addAccount("Other"));
  const save = (at: number) =>
    sent_link.page.send(
      "PATCH",
      "/kyc/session/identity",
      { identity: LIVING },
      { headers: { "x-forwarded-for": `203.0.113.${at}` } },
    );
  // As if each change of this person took long.
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const holding = server.core.database.transaction(async (tx) => {
    await lockRow(tx, "users", { account_id: flooding.account_id, id: sent_link.user_id });
    locked.resolve();
    await held;
  });
  await locked.promise;
  const sent = Array.from({ length: 40 }, (_, at) => save(at));
  // The first ones have arrived at the database.
  await expectFine(server.call("GET", "/users?limit=1"));
  try {
    const begun_ms = performance.now();
    await expectFine(other.page.send("GET", "/kyc/session"));
    await expectFine(other.page.save(LIVING));
    expect(performance.now() - begun_ms).toBeLessThan(5_000);
  } finally {
    letGo();
    await holding;
  }
  const codes = (await Promise.all(sent)).map(({ status }) => status);
  expect(new Set(codes)).toEqual(new Set([200]));
});

it("one link has 240 requests in a minute, another one of the account its own", async () => {
  const [link, other] = [await openFor(server), await openFor(server)];
  // More than two windows allow.
  const codes = new Set<number>();
  for (let at = 0; at < 490; at += 1) {
    codes.add((await link.page.send("GET", "/kyc/session")).status);
  }
  expect(codes).toEqual(new Set([200, 429]));
  await expectFine(other.page.send("GET", "/kyc/session"));
});
