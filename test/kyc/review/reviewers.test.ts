import { afterAll, beforeAll, expect, it } from "vitest";
import type { HttpVisitor } from "../../harness/http-visitor.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import {
  addWaiting,
  auditOf,
  decide,
  REVIEWS,
  setAccount,
  show,
  signInAs,
} from "./review-fixture.ts";

type Reviewer = { email: string; visitor: HttpVisitor };

let server: TestServer;
let ada: Reviewer;
let ben: Reviewer;

beforeAll(async () => {
  server = await startTestServer();
  ada = await signInAs(server, server.account_id, "admin");
  ben = await signInAs(server, server.account_id, "approver");
  await setAccount(server, server.account_id, { kyc_two_person_approval: true });
});
afterAll(() => server.close());

it("a review names who proposed, and who decided before, with or without a comment", async () => {
  const { path } = await addWaiting(server);
  await decide(ada.visitor, path, "approve");
  expect((await show(ben.visitor, path)).proposed).toMatchObject({ by: ada.email });
  await decide(ben.visitor, path, "refuse", "the face is another person's");
  expect((await show(ada.visitor, path)).past).toMatchObject([
    {
      by: ben.email,
      label: "Did not confirm the proposal",
      comment: "the face is another person's",
    },
    { by: ada.email, label: "Proposed: Approve", comment: null },
  ]);
});

it("the operator's reviewers are not named to the members of another account", async () => {
  const other = await server.addAccount("Reviews itself");
  await setAccount(server, other.account_id, {
    kyc_review_by_account: true,
    kyc_two_person_approval: true,
  });
  const cy = await signInAs(server, other.account_id, "admin");
  const { path } = await addWaiting(server, other);
  await decide(ada.visitor, path, "approve");
  const shown = await show(cy.visitor, path);
  expect(shown.proposed).toMatchObject({ label: "Approve", is_own: false, by: null });
  expect(shown.past).toMatchObject([{ label: "Proposed: Approve", by: null }]);
  await decide(cy.visitor, path, "approve");
  expect((await show(ada.visitor, path)).past).toMatchObject([{ by: cy.email }, { by: ada.email }]);
});

it("its version changes with every act of a reviewer and of the account, not by being read", async () => {
  const { path, user_id } = await addWaiting(server);
  const version = async (visitor = ben.visitor) =>
    (await visitor.call("GET", `${path}/version`)).json().version as string;
  const seen = [await version()];
  await show(ada.visitor, path);
  expect(await version()).toBe(seen[0]);
  const acts = [
    () => decide(ada.visitor, path, "approve"),
    () => decide(ben.visitor, path, "refuse", "no"),
    () => decide(ben.visitor, path, "refuse", "no"),
    () => server.call("PATCH", `/users/${user_id}`, { user: { last_name: "Outra" } }),
    () => decide(ada.visitor, path, "approve"),
    () => decide(ben.visitor, path, "approve"),
  ];
  for (const act of acts) {
    await act();
    seen.push(await version());
  }
  expect(new Set(seen).size).toBe(acts.length + 1);
  // Whoever asks for it has not seen the data.
  const reads = (await auditOf(server, user_id)).filter(({ action }) => action === "kyc.read");
  expect(reads).toHaveLength(acts.length);
});

it("its version is known to nobody else, and to no other role", async () => {
  const { path } = await addWaiting(server);
  const { account_id } = await server.addAccount("Without reviewers");
  const stranger = await signInAs(server, account_id, "admin");
  expect((await stranger.visitor.call("GET", `${path}/version`)).statusCode).toBe(404);
  const accountant = await signInAs(server, server.account_id, "accountant");
  expect((await accountant.visitor.call("GET", `${path}/version`)).statusCode).toBe(403);
});

it("who was rejected or denied is listed, the newest decision first", async () => {
  const { account_id, key } = await server.addAccount("Decides");
  await setAccount(server, account_id, { kyc_review_by_account: true });
  const { visitor } = await signInAs(server, account_id, "admin");
  const added = [];
  for (let count = 0; count < 3; count += 1) {
    added.push(await addWaiting(server, { account_id, key }));
  }
  const [first, second, third] = added as [(typeof added)[0], (typeof added)[0], (typeof added)[0]];
  for (const { path } of [second, first]) await decide(visitor, path, "refuse", "not genuine");
  await decide(visitor, third.path, "ask_again", "blurred");
  await decide(visitor, third.path, "deny", "blurred again");
  const list = async (status: string) =>
    (await visitor.call("GET", `${REVIEWS}?status=${status}`))
      .json()
      .reviews.map(({ user_id }: { user_id: string }) => user_id);
  expect(await list("failed")).toEqual([first.user_id, second.user_id]);
  expect(await list("retry_denied")).toEqual([third.user_id]);
});
