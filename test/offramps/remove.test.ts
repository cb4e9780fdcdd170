import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { openDocumentFixture, PDF } from "./documents/document-fixture.ts";
import { advance, EXPIRY_MS, expectRefusal, findFault, good, openStory, settle } from "./story.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
});
afterAll(() => server.close());
afterEach(async () => expect(await findFault(server)).toBeNull());

const remove = (
  story: { user_id: string; quote_id: string },
  id: string,
  options: { idempotency_key?: string; key?: string } = {},
) =>
  server.call(
    "DELETE",
    `/users/${story.user_id}/quotes/${story.quote_id}/offramps/${id}`,
    undefined,
    {
      ...(options.key ? { key: options.key } : {}),
      headers: options.idempotency_key ? { "idempotency-key": options.idempotency_key } : {},
    },
  );

describe("an offramp removed from its quote", () => {
  it("is returned as it was, is gone afterwards, and the totals are reduced", async () => {
    const story = await openStory(server, [{ amount: 1000 }, { amount: 200 }]);
    const [kept, removed] = story.offramp_ids as [string, string];
    const path = `/users/${story.user_id}/quotes/${story.quote_id}`;
    const alone = await openStory(server, [{ amount: 1000 }]);
    const before = await story.show(removed);
    expect(good(await remove(story, removed)).offramp).toEqual(before);
    expect((await remove(story, removed)).status).toBe(404);
    expect((await server.call("GET", `/users/${story.user_id}/offramps/${removed}`)).status).toBe(
      404,
    );
    const left = good(await server.call("GET", path));
    expect(left.offramps).toMatchObject([{ id: kept }]);
    expect(left.quote.deposit_token_amount).toBe(await alone.total());
    good(await story.execute());
    await story.waitForStatus("fiat_sent", kept);
    expect(await story.owed()).toBe(0);
  });

  it("is returned again for the same Idempotency-Key, and the totals are reduced once", async () => {
    const story = await openStory(server, [{ amount: 1000 }, { amount: 1000 }]);
    const [, removed] = story.offramp_ids as [string, string];
    const idempotency_key = `remove-${removed}`;
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => remove(story, removed, { idempotency_key })),
    );
    for (const answer of answers) expect(answer.text).toBe(answers[0]!.text);
    expect(answers.filter(({ headers }) => !headers.get("idempotent-replayed"))).toHaveLength(1);
    expect(await story.total()).toBe(await (await openStory(server)).total());
  });

  it("is removed once by eight concurrent callers without a key", async () => {
    const story = await openStory(server, [{ amount: 1000 }, { amount: 1000 }]);
    const [, removed] = story.offramp_ids as [string, string];
    const answers = await Promise.all(Array.from({ length: 8 }, () => remove(story, removed)));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, ...Array(7).fill(404)]);
    expect(await story.total()).toBe(await (await openStory(server)).total());
  });

  it("422 once the quote is executed or expired; without its last offramp it cannot be executed", async () => {
    const executed = await openStory(server);
    good(await executed.execute());
    expectRefusal(await remove(executed, executed.offramp_id), "quote_already_executed");
    await executed.waitForStatus("fiat_sent");
    const empty = await openStory(server);
    good(await remove(empty, empty.offramp_id));
    expect(await empty.total()).toBe(0);
    expectRefusal(await empty.execute(), "no_offramps_present");
    const expired = await openStory(server);
    await advance(server, EXPIRY_MS);
    expectRefusal(await remove(expired, expired.offramp_id), "quote_expired");
  });

  it("404 through another quote, another user or another account", async () => {
    const story = await openStory(server);
    const other = await openStory(server);
    const { key } = await server.addAccount("Other");
    expect((await remove(other, story.offramp_id)).status).toBe(404);
    expect((await remove({ ...story, user_id: other.user_id }, story.offramp_id)).status).toBe(404);
    expect((await remove(story, story.offramp_id, { key })).status).toBe(404);
    expect((await story.show()).status).toBe("initiated");
  });

  it("is removed together with the files of its document", async () => {
    const fixture = await openDocumentFixture(server);
    const offramp = await fixture.addOfframp();
    await fixture.upload(offramp, PDF);
    expect(await fixture.listFiles(offramp)).toHaveLength(1);
    good(await remove(offramp, offramp.id));
    await settle(server);
    expect(await fixture.listFiles(offramp)).toEqual([]);
  });
});
