import type { Session } from "../platform/db/database.ts";
import { eachPage } from "./checks.ts";

type Created = { id: string; record: string; action: string; passkey_id: string | null };

/**
 * A second factor, of a person in any account, is there until somebody removed or reset it. What
 * the audit log says is looked up and not joined: each account's entries may be on another node.
 */
export async function verifyFactors(session: Session): Promise<string | null> {
  const accounts = await session.query<{ id: string }>("select id from accounts order by id");
  const unexplained: Created[] = [];
  for (const { id: account_id } of accounts) {
    const fault = await eachPage<Created>(session, account_id, CREATED, async (created) => {
      const missing = await findMissing(session, created);
      unexplained.push(...(await withoutRemoved(session, missing, account_id)));
      // A page at a time, since this reads the entries of all accounts.
      if (unexplained.length < SEARCHED_MIN) return null;
      return findFault(session, unexplained.splice(0));
    });
    if (fault) return fault;
  }
  return findFault(session, unexplained);
}

const SEARCHED_MIN = 500;

const CREATED = `select id, record, action, detail::jsonb ->> 'passkey_id' as passkey_id
  from audit_entries
  where account_id = $1 and action in ('second_factor.create', 'passkey.create') and id > $2
  order by id limit $3`;

/** The person may have removed it as a member of another account. */
async function findFault(session: Session, missing: readonly Created[]): Promise<string | null> {
  const [lost] = await withoutRemoved(session, missing);
  if (!lost) return null;
  const factor = lost.action === "passkey.create" ? "a passkey" : "the second factor";
  return `${factor} of ${lost.record} is missing, but nobody removed it`;
}

async function findMissing(session: Session, created: readonly Created[]): Promise<Created[]> {
  const person_ids = created.map(personOf);
  const [passkeys, totp] = await Promise.all([
    session.query<{ id: string }>(
      "select id from passkeys where person_id = any($1::uuid[]) and id = any($2::uuid[])",
      [person_ids, created.map(({ passkey_id }) => passkey_id)],
    ),
    session.query<{ person_id: string }>(
      "select person_id from totp_factors where person_id = any($1::uuid[])",
      [person_ids],
    ),
  ]);
  const passkey_ids = new Set(passkeys.map(({ id }) => id));
  const with_totp = new Set(totp.map(({ person_id }) => person_id));
  return created.filter((one) =>
    one.action === "passkey.create"
      ? !passkey_ids.has(one.passkey_id ?? "")
      : !with_totp.has(personOf(one)),
  );
}

const personOf = ({ record }: Created) => record.slice("person:".length);

const REMOVALS = ["second_factor.reset", "member.remove", "second_factor.remove", "passkey.remove"];

/** Those that no later entry removes, of the account or of any. */
async function withoutRemoved(
  session: Session,
  missing: readonly Created[],
  account_id?: string,
): Promise<Created[]> {
  if (missing.length === 0) return [];
  const removals = await session.query<Created>(
    `select distinct on (record, action, passkey_id) record, action, passkey_id, id from (
       select record, action, detail::jsonb ->> 'passkey_id' as passkey_id, id
       from audit_entries where record = any($1::text[]) and action = any($2::text[])
         ${account_id ? "and account_id = $3" : ""}) as removals
     order by record, action, passkey_id, id desc`,
    [missing.map(({ record }) => record), REMOVALS, ...(account_id ? [account_id] : [])],
  );
  const removals_of = Map.groupBy(removals, ({ record }) => record);
  return missing.filter(
    (one) => !removals_of.get(one.record)?.some((removal) => isRemovedBy(one, removal)),
  );
}

function isRemovedBy(created: Created, removal: Created): boolean {
  if (removal.id <= created.id) return false;
  switch (removal.action) {
    case "second_factor.remove":
      return created.action === "second_factor.create";
    case "passkey.remove":
      return (
        created.action === "passkey.create" &&
        created.passkey_id !== null &&
        created.passkey_id === removal.passkey_id
      );
    default:
      return true;
  }
}
