import type { Session } from "../platform/db/database.ts";
import { distinctSetOf } from "../platform/db/rows.ts";
import type { SubjectKeys } from "../platform/encryption/keyring.ts";
import { sealedText } from "../platform/encryption/sealed-column.ts";
import type { UserKey } from "../users/store.ts";

/** Where wallets are kept that somebody has named. */
const NAMED_WALLETS = {
  refund_addresses: sealedText("refund_addresses", "address"),
  refunds: sealedText("refunds", "address"),
  onramps: sealedText("onramps", "details"),
};
type NamedWallet = UserKey & { place: keyof typeof NAMED_WALLETS; id: string; address: Buffer };

/** Older onramps were delivered long ago, to wallets that were screened then. */
const ONRAMPS_MAX = 100;

/** Read at once: anybody can send dust from any number of wallets. */
const SENDERS_AT_ONCE = 1_000;

/**
 * Of the wallets that a user has sent from, or that tokens of theirs are to be sent to, those that
 * a list has.
 */
export async function findListedWallets(
  session: Session,
  users: readonly UserKey[],
  keys: SubjectKeys,
  chooseListed: (wallets: readonly string[]) => readonly string[],
): Promise<Map<string, string[]>> {
  const wanted = distinctSetOf(session, "wanted", "account_id uuid, user_id uuid", users);
  const named = await Promise.all([
    session.query<NamedWallet>(
      `select 'refund_addresses' as place, account_id, id, user_id, address from refund_addresses
       join ${wanted.from} using (account_id, user_id)`,
      wanted.values,
    ),
    session.query<NamedWallet>(
      `select 'refunds' as place, account_id, id, user_id, address from refunds
       join ${wanted.from} using (account_id, user_id)
       where status in ('pending', 'sending')`,
      wanted.values,
    ),
    session.query<NamedWallet>(
      `select 'onramps' as place, account_id, onramp.id, user_id, onramp.details as address
       from ${wanted.from}
       cross join lateral (select id, details from onramps
         where onramps.account_id = wanted.account_id and onramps.user_id = wanted.user_id
         order by id desc limit ${ONRAMPS_MAX}) as onramp`,
      wanted.values,
    ),
  ]);
  const found = new Map<string, Set<string>>();
  const note = (wallets: readonly (UserKey & { address: string })[]) => {
    for (const [user_id, own] of Map.groupBy(wallets, (wallet) => wallet.user_id)) {
      const listed = chooseListed(own.map(({ address }) => address));
      if (listed.length > 0) {
        found.set(user_id, new Set([...(found.get(user_id) ?? []), ...listed]));
      }
    }
  };
  note(
    named.flat().flatMap((row) => {
      const key = keys.get(row.account_id, row.user_id);
      return key ? [{ ...row, address: NAMED_WALLETS[row.place].open(key, row, row.address) }] : [];
    }),
  );
  for await (const senders of listSenders(session, users)) note(senders);
  return new Map([...found].map(([user_id, wallets]) => [user_id, [...wallets]]));
}

/** In parts, between which others are served. */
async function* listSenders(session: Session, users: readonly UserKey[]) {
  let after = users.map((user) => ({ ...user, address: "" }));
  while (after.length > 0) {
    const wanted = distinctSetOf(
      session,
      "wanted",
      "account_id uuid, user_id uuid, address text",
      after,
    );
    // The last one as the database orders them.
    const senders = await session.query<UserKey & { address: string; last: string }>(
      `select wanted.account_id, wanted.user_id, d.address,
         max(d.address) over (partition by wanted.account_id, wanted.user_id) as last
       from ${wanted.from}
       cross join lateral (select distinct sender as address from deposits
         where account_id = ${wanted.accountIn("wanted")} and user_id = wanted.user_id
           and sender > wanted.address
         order by sender limit ${SENDERS_AT_ONCE}) as d`,
      wanted.values,
    );
    yield senders;
    const of_users = Map.groupBy(senders, ({ user_id }) => user_id);
    after = [...of_users.values()].flatMap(([first, ...rest]) =>
      rest.length + 1 < SENDERS_AT_ONCE ? [] : [{ ...first!, address: first!.last }],
    );
  }
}
