import { randomBytes } from "node:crypto";
import { recordAudit } from "../../../src/accounts/audit.ts";
import { OPERATOR_ACTS } from "../../../src/accounts/operator-acts.ts";
import { insertPasskey } from "../../../src/accounts/passkeys/store.ts";
import { insertPasswordLink } from "../../../src/accounts/sign-in/password-store.ts";
import { insertUnapproved } from "../../../src/approvals/amount-store.ts";
import { holdAll, releaseAll } from "../../../src/cli/payouts/actions.ts";
import { EVERY } from "../../../src/limits/model.ts";
import { setLimit } from "../../../src/limits/set-limit.ts";
import {
  EXCEPTION_DECISIONS,
  EXCEPTION_OUTCOMES,
} from "../../../src/offramps/exceptions/decision-store.ts";
import { KEPT_MESSAGES } from "../../../src/partners/kept-messages/kept-store.ts";
import { newId } from "../../../src/platform/ids.ts";
import { sealAll, signingKey } from "../../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../../src/platform/sealing/signing-seed.ts";
import { insertVouched } from "../../../src/platform/sealing/write-vouched.ts";
import { insertArchive } from "../../../src/retention/archives/store.ts";
import { enrol } from "../../accounts/authenticator.ts";
import { addMember, addOwedUser, proposalIn, STRANGE } from "../../approvals/proposal-fixture.ts";
import { eraseUser } from "../../harness/erase-user.ts";
import { createRecords } from "../../harness/records.ts";
import type { TestServer } from "../../harness/server.ts";
import { addUser, expectFine, openLink, PageVisitor } from "../../kyc/kyc-fixture.ts";
import { createPayoutsInEveryState } from "../../offramps/every-state.ts";
import { good, openStory, settle } from "../../offramps/story.ts";
import { act, openOnramp, receive } from "../../onramps/story.ts";

/**
 * Records of every kind in every state, sealed, with the worker stopped: what `verify` reads does
 * not change any more.
 */
export async function createTamperWorld(server: TestServer): Promise<void> {
  await createPayoutsInEveryState(server);
  await createProposals(server);
  await createOnramps(server);
  await createIdentities(server);
  await createRecords(server, server.key);
  await createControls(server);
  await settle(server);
  await removeOfframp(server);
  // What the harness writes by itself: no service wrote it.
  await server.db.database.query("delete from bank_answers where bank_reference like 'harness-%'");
  await server.app.worker.stop();
  const { config, database, clock } = server.core;
  await sealAll(database, signingKey(signingSeed(config)), clock.now());
  await database.transaction(async (tx) => {
    const act = { account_id: server.account_id, actor: "command line", reason: "a test" } as const;
    // Not sealed yet.
    recordAudit(tx, { ...act, action: "account.update", record: "account:none" }, clock.now());
    // Between two steps with `SLIPROAD_BATCH_BY=account`.
    const { account_id } = server;
    const left = () => ({ account_id, id: newId(clock.now()), created_at: clock.now() });
    insertVouched(tx, OPERATOR_ACTS, { ...left(), operator_id: account_id, entry: "{}" });
    const decision = { ...left(), exception_account_id: account_id, command: "{}" };
    insertVouched(tx, EXCEPTION_DECISIONS, decision);
    insertVouched(tx, EXCEPTION_OUTCOMES, { ...left(), result: "{}" });
    insertVouched(tx, KEPT_MESSAGES, {
      ...{ account_id, kind: "kept", record_id: account_id, place: 1n },
      ...{ reference: "kept", message: "{}", kept_at: clock.now() },
    });
    insertArchive(tx, {
      ...{ account_id, table_name: "events", number: 1n, name: "a file", row_count: 1 },
      ...{ first_id: newId(clock.now()), last_id: newId(clock.now()), previous: null },
      ...{ sha256: randomBytes(32), created_at: clock.now() },
    });
  });
}

async function removeOfframp(server: TestServer): Promise<void> {
  const { user_id, quote_id, offramp_ids } = await openStory(server, [
    { amount: 9 },
    { amount: 8 },
  ]);
  const path = `/users/${user_id}/quotes/${quote_id}/offramps/${offramp_ids[1]}`;
  good(await server.call("DELETE", path));
}

/** One that nobody has voted on, one with a vote, one that was rejected; limits and a freeze. */
async function createProposals(server: TestServer): Promise<void> {
  const admin = await addMember(server, "admin");
  const manager = await addMember(server, "finance_manager");
  await enrol(admin.visitor);
  const owed = await addOwedUser(server, 50);
  for (const vote of ["none", "confirm", "reject", "both"]) {
    const { id } = proposalIn(await owed.refund(5, STRANGE));
    if (vote === "reject") await admin.reject(id);
    if (vote === "confirm" || vote === "both") await admin.confirm(id);
    if (vote === "both") await manager.confirm(id);
  }
  await settle(server);
}

async function createOnramps(server: TestServer): Promise<void> {
  const delivered = await openOnramp(server);
  await receive(server, { amount: delivered.amount, deposit_message: delivered.code });
  const waiting = await openOnramp(server);
  const unmatched = await receive(server, { amount: waiting.amount, deposit_message: "no code" });
  good(await act(server, unmatched.id, "match", { onramp_id: waiting.id }));
  const strange = await receive(server, { amount: 7, deposit_message: "none" });
  good(await act(server, strange.id, "return"));
  await settle(server);
}

/** What limits and holds money, and what a person signs in with. */
async function createControls(server: TestServer): Promise<void> {
  const { core, account_id } = server;
  const now = core.clock.now();
  await holdAll(core, "a test");
  await releaseAll(core, { reason: "the test goes on", anyway: true });
  const member = await addMember(server, "developer");
  const { person_id } = member;
  await core.database.transaction(async (tx) => {
    const by = { operator_id: account_id, actor: "command line", reason: "a test" } as const;
    const rule = { account_id, user_id: EVERY, scope: "account", time_window: "day" } as const;
    setLimit(tx, { ...rule, amount_max: 99_000_000_00n, count_max: null }, by, now);
    insertUnapproved(tx, [{ account_id, record_id: newId(now), amount_usd: 7n, created_at: now }]);
    const link = { token_hash: randomBytes(32), kind: "reset", person_id } as const;
    insertPasswordLink(tx, { ...link, created_at: now, expires_at: new Date(8.64e14) });
    const passkey_id = newId(now);
    const act = { actor: `member:${person_id}`, action: "passkey.create", reason: "" } as const;
    const record = `person:${person_id}`;
    recordAudit(tx, { account_id, ...act, record, detail: { passkey_id } }, now);
    await insertPasskey(tx, {
      ...{ person_id, id: passkey_id, credential_id: randomBytes(16), public_key: randomBytes(64) },
      ...{ sign_count: 0n, transports: ["usb"], name: randomBytes(40), created_at: now },
      ...{ last_used_at: null, works_alone: true },
    });
  });
}

/** An application with its files, and a person who was erased. */
async function createIdentities(server: TestServer): Promise<void> {
  const user_id = await addUser(server);
  const page = new PageVisitor(server);
  await expectFine(page.open(await openLink(server, user_id)));
  await page.fill();
  await expectFine(page.submit());
  await settle(server);
  const erased = await addUser(server);
  await eraseUser(server.core, { account_id: server.account_id, user_id: erased });
}
