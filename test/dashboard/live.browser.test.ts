import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addWaiting, auditOf, decide, setAccount, signInAs } from "../kyc/review/review-fixture.ts";
import { inspect, openStories, type Stories, WIDE } from "./browser-stories.ts";
import { signInMember } from "./dashboard-server.ts";

const NOBODY = "019a0000-0000-7000-8000-0000deadbeef";
const TEST_MS = 120_000;

let stories: Stories;
let waiting: { user_id: string };

beforeAll(async () => {
  stories = await openStories(["admin", "developer"]);
  waiting = await addWaiting(stories.server, stories.server, { first_name: "Zenobia" });
}, TEST_MS);
afterAll(() => stories?.close());

const as = (role: "admin" | "developer") => stories.members.get(role)!;

/** An answer of the bank about a payment that nobody knows. */
function addBankException(): Promise<unknown> {
  const { core, account_id } = stories.server;
  return core.database.query(
    `insert into bank_answers (account_id, bank_reference, end_to_end_id, kind, amount, currency,
       outcome, created_at, status, updated_at)
     values ($1, 'LINE-99', 'lost', 'booked', 1200, 'eur', 'no_such_payment', $2, 'open', $2)`,
    [account_id, core.clock.now()],
  );
}

type Story = readonly [path: string, shows: string, act: () => Promise<unknown>];

const ADMIN: readonly Story[] = [
  ["deposits?tab=exceptions", "LINE-99", addBankException],
  [
    ...(["deposits?tab=unmatched", "LINE-77"] as const),
    () =>
      stories.sliproad.sandbox.createDeposit({
        ...{ amount: 12, currency: "eur", deposit_message: "hello", bank_reference: "LINE-77" },
      }),
  ],
  [
    ...(["quotes", "Zenobia Inventada"] as const),
    () =>
      stories.sliproad.quotes.create(waiting.user_id, {
        ...{ deposit_token: "usdc", deposit_token_chain: "polygon" },
      }),
  ],
  [
    ...(["people", "Yusuf Inventada"] as const),
    () => addWaiting(stories.server, stories.server, { first_name: "Yusuf" }),
  ],
  [
    ...(["people/reviews", "Xenia Inventada"] as const),
    () => addWaiting(stories.server, stories.server, { first_name: "Xenia" }),
  ],
  [
    ...(["settings/team", "new@example.test"] as const),
    () => {
      const { server } = stories;
      const [role, email] = ["accountant", "new@example.test"] as const;
      return signInMember(server, { account_id: server.account_id, role, email });
    },
  ],
];
const addKey = (name: string) =>
  as("admin").call("POST", "/dashboard/api/keys", { name, scopes: ["read"] });
const DEVELOPER: readonly Story[] = [
  ["settings/developer/keys", "Shop key", () => addKey("Shop key")],
  ["settings/audit", "created the API key Till key", () => addKey("Till key")],
  [
    ...(["settings/developer/logs", "…deadbeef"] as const),
    () => stories.server.call("POST", `/users/${NOBODY}/quotes`, {}),
  ],
];

async function seeItAppear(page: Page, [path, shows, act]: Story): Promise<void> {
  await page.goto(`${stories.server.url}/dashboard/${path}`);
  await page.locator('[aria-busy="true"]').first().waitFor({ state: "detached" });
  await page.getByRole("heading", { level: 1 }).waitFor();
  const shown = page.getByText(shows).filter({ visible: true });
  expect(await shown.count()).toBe(0);
  await act();
  await shown.first().waitFor();
}

test.each(ADMIN)("an admin sees on %s without reload: %s", async (...story) => {
  await stories.visit("admin", WIDE, (page) => seeItAppear(page, story));
});

test.each(DEVELOPER)("a developer sees on %s without reload: %s", async (...story) => {
  await stories.visit("developer", WIDE, (page) => seeItAppear(page, story));
});

test("an open review shows that the identity was decided elsewhere", async () => {
  const { server, sliproad } = stories;
  await stories.visit("admin", WIDE, async (page) => {
    const path = `people/reviews/${server.account_id}/${waiting.user_id}`;
    await page.goto(`${server.url}/dashboard/${path}`);
    const bar = page.getByRole("region", { name: "Decision" });
    await bar.getByRole("button", { name: "Approve" }).waitFor();
    await sliproad.sandbox.setKycStatus(waiting.user_id, "approved");
    await bar.getByRole("button", { name: "Approve" }).waitFor({ state: "detached" });
  });
});

test("an open review of another account's user shows what another reviewer did, with their name", async () => {
  const { server } = stories;
  const other = await server.addAccount("Northern Lights Trading");
  await setAccount(server, other.account_id, { kyc_two_person_approval: true });
  const { user_id, path } = await addWaiting(server, other, { first_name: "Wanda" });
  const colleague = await signInAs(server, server.account_id, "approver");
  const third = await signInAs(server, server.account_id, "admin");
  await stories.visit("admin", WIDE, async (page) => {
    await page.goto(`${server.url}/dashboard/people/reviews/${other.account_id}/${user_id}`);
    const bar = page.getByRole("region", { name: "Decision" });
    await bar.getByRole("button", { name: "Approve" }).waitFor();
    await decide(colleague.visitor, path, "approve", "genuine");
    await bar.getByText(`${colleague.email} proposed: Approve (“genuine”)`).waitFor();
    await bar.getByRole("button", { name: "Confirm: Approve" }).waitFor();
    await page.getByRole("status").getByText("has changed since you opened it").waitFor();
    await decide(third.visitor, path, "approve");
    await bar.getByRole("button", { name: "Confirm: Approve" }).waitFor({ state: "detached" });
    const past = page.getByRole("region", { name: "Earlier decisions" });
    await past.getByText(third.email).waitFor();
    await inspect(page, "review-decided-elsewhere");
  });
  const reads = (await auditOf(server, user_id)).filter(
    ({ action, actor }) =>
      action === "kyc.read" && actor === `member:${stories.members.get("admin")!.person_id}`,
  );
  expect(reads).toHaveLength(3);
});
