import { type Check, eachPage } from "./checks.ts";

type Row = {
  id: string;
  scopes: string[] | null;
  networks: string[] | null;
  expires_at: Date | null;
  is_revoked: boolean;
  /** The details of the audit entries about it; null where there is none. */
  created: string | null;
  rotated: string | null;
  revoked: string | null;
};

/** What a key may do is what the audit log says: nobody gave it more, or planted it. */
export const verifyKeys: Check = (session, account_id) =>
  eachPage<Row>(session, account_id, QUERY, async (keys) => {
    for (const key of keys) {
      const fault = checkKey(key);
      if (fault) return `API key ${key.id} of account ${account_id}: ${fault}`;
    }
    return null;
  });

const entry = (action: string) => `(select detail from audit_entries as e
    where e.account_id = api_keys.account_id and e.record = 'api_key:' || api_keys.id
      and action = '${action}' order by e.id desc limit 1)`;

const QUERY = `select id, scopes, networks, expires_at, revoked_at is not null as is_revoked,
    ${entry("api_key.create")} as created, ${entry("api_key.rotate")} as rotated,
    ${entry("api_key.revoke")} as revoked
  from api_keys where account_id = $1 and id > $2 order by id limit $3`;

function checkKey(key: Row): string | null {
  if (key.created === null) return "the audit log has no entry of its creation";
  const created = JSON.parse(key.created);
  for (const name of ["scopes", "networks"] as const) {
    if (JSON.stringify(key[name]) !== JSON.stringify(created[name] ?? null)) {
      return `its ${name} are not those of its entry in the audit log`;
    }
  }
  const { expires_at = null } = key.rotated === null ? created : JSON.parse(key.rotated);
  if ((key.expires_at?.toISOString() ?? null) !== expires_at) {
    return "it does not expire when its entry in the audit log says";
  }
  if (key.is_revoked === (key.revoked !== null)) return null;
  return key.is_revoked
    ? "it is revoked, but the audit log has no entry of it"
    : "it is valid, but the audit log says that it was revoked";
}
