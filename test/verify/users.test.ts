import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Session } from "../../src/platform/db/database.ts";
import type { Check } from "../../src/verify/checks.ts";
import { verifyKeys } from "../../src/verify/verify-keys.ts";
import { verifyScreening } from "../../src/verify/verify-screening.ts";
import { verifyUsers } from "../../src/verify/verify-users.ts";
import { setKyc } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { addUser } from "../kyc/kyc-fixture.ts";
import { findFault, good } from "../offramps/story.ts";

let server: TestServer;
let approved: string;
let untouched: string;

beforeAll(async () => {
  server = await startTestServer();
  untouched = await addUser(server);
  approved = await addUser(server);
  good(await setKyc(server, approved, { status: "suspended" }));
  good(await setKyc(server, approved, { status: "approved" }));
});
afterAll(() => server.close());

/** The error reported for a manipulated database; the change is rolled back. */
function faultAfter(text: string, id: string, check: Check = verifyUsers): Promise<string | null> {
  return server.db.database.connection(async (session: Session) => {
    await session.query("begin");
    await session.query(text, [server.account_id, id]);
    return check(session, server.account_id);
  });
}

const named = (id: string, fault: string) => `user ${id} of account ${server.account_id}: ${fault}`;

it("finds no error in unchanged data", async () => {
  expect(await findFault(server)).toBeNull();
});

describe("the KYC of a user", () => {
  it.each([
    ["kyc_status", "failed", "it is failed, but its last event says approved"],
    ["kyc_usd_status", "failed", "it does not match its last event"],
    ["kyc_usd_swift_status", "suspended", "it does not match its last event"],
    ["kyc_eur_status", "failed", "it does not match its last event"],
    ["kyc_eur_swift_status", "suspended", "it does not match its last event"],
  ])("whose %s was changed is named", async (column, value, fault) => {
    const text = `update users set ${column} = '${value}' where account_id = $1 and id = $2`;
    expect(await faultAfter(text, approved)).toBe(named(approved, fault));
  });

  it("with a wrong count of events is named", async () => {
    const text = "update users set sequence = sequence + 1 where account_id = $1 and id = $2";
    expect(await faultAfter(text, approved)).toBe(
      named(approved, "it counts 8 changes, but has 7 events"),
    );
  });

  it.each([
    ["kyc_status", "it is approved, but its last event says not_started"],
    ["kyc_usd_status", "it is not_started, but approved in usd"],
    ["kyc_usd_swift_status", "it is not_started, but approved for swift in usd"],
    ["kyc_eur_swift_status", "it is not_started, but approved for swift in eur"],
  ])("that was approved in %s without any event is named", async (column, fault) => {
    const text = `update users set ${column} = 'approved' where account_id = $1 and id = $2`;
    expect(await faultAfter(text, untouched)).toBe(named(untouched, fault));
  });

  it("of an erased user is still compared", async () => {
    const text = `update users set kyc_status = 'failed', identity = null, email_index = null,
      erased_at = created_at where account_id = $1 and id = $2`;
    expect(await faultAfter(text, approved)).toContain("its last event says approved");
  });
});

describe("a user", () => {
  it("who was erased by half is named", async () => {
    const kept = `update users set identity = null, email_index = null, erased_at = created_at
      where account_id = $1 and id = $2`;
    const fault = named(untouched, "it is erased, but the key of its data exists");
    expect(await faultAfter(kept, untouched)).toBe(fault);
    const lost = "delete from subject_keys where account_id = $1 and subject_id = $2";
    expect(await faultAfter(lost, untouched)).toBe(
      named(untouched, "the key of its data is missing"),
    );
  });
});

describe("the events of a user", () => {
  const events = "events set %s where account_id = $1 and record_id = $2 and sequence = 5";
  const change = (set: string) => `update ${events.replace("%s", set)}`;

  it.each([
    [
      "to_status = 'failed'",
      "its event 6 starts at approved, but the previous one ended at failed",
    ],
    ["to_status = 'suspended'", "its event 5 goes from application_queued to suspended"],
    ["sequence = 50", "its event 6 is in the place of event 5"],
    [
      "from_status = null",
      "its event 5 starts at null, but the previous one ended at application_queued",
    ],
  ])("are checked transition by transition: %s", async (set, fault) => {
    expect(await faultAfter(change(set), approved)).toBe(named(approved, fault));
  });

  it("of which one was deleted, or has no user, are named", async () => {
    const last = `with placed as (delete from event_positions where account_id = $1)
      delete from events where account_id = $1 and record_id = $2 and sequence = 7`;
    expect(await faultAfter(last, approved)).toBe(
      named(approved, "it counts 7 changes, but has 6 events"),
    );
    const stray = change("record_id = gen_random_uuid()");
    expect(await faultAfter(stray, approved)).toContain("there is no user");
  });
});

describe("the screening of a user", () => {
  it("that is not what the matches say is named", async () => {
    const text = `update users set screening_status = 'match', screening_held_at = created_at
      where account_id = $1 and id = $2`;
    expect(await faultAfter(text, approved, verifyScreening)).toBe(
      named(approved, "its screening is match, but its matches say clear"),
    );
  });

  it("with a match that nobody has cleared is named", async () => {
    const text = `insert into screening_matches (account_id, id, user_id, record_kind, record_id,
        list, entry_id, entry_digest, person_digest, verdict, score, status, details, created_at,
        updated_at)
      select account_id, id, id, 'user', id, 'x', 'x', 'x', '', 'match', 1, 'cleared', '',
        created_at, created_at from users where account_id = $1 and id = $2`;
    expect(await faultAfter(text, approved, verifyScreening)).toContain(
      "it is cleared, but the audit log has no decision",
    );
  });
});

describe("an API key", () => {
  it.each([
    ["scopes = '{read}'", "its scopes are not those of its entry in the audit log"],
    ["networks = '{192.0.2.1}'", "its networks are not those of its entry in the audit log"],
    ["expires_at = created_at", "it does not expire when its entry in the audit log says"],
    ["revoked_at = created_at", "it is revoked, but the audit log has no entry of it"],
  ])("with %s that was changed is named", async (change, fault) => {
    const text = `update api_keys set ${change} where account_id = $1 and $2::uuid is not null`;
    expect(await faultAfter(text, approved, verifyKeys)).toContain(fault);
  });

  it("that was planted is named", async () => {
    const text = `insert into api_keys (account_id, id, name, prefix, last_four, created_at)
      select account_id, id, 'planted', '', '', created_at from users
      where account_id = $1 and id = $2`;
    expect(await faultAfter(text, approved, verifyKeys)).toContain(
      "the audit log has no entry of its creation",
    );
  });
});
