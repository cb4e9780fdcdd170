import { openAddress } from "../balances/refund-store.ts";
import { lowerAscii } from "../catalogue/text.ts";
import { offrampIdOf } from "../offramps/payouts/model.ts";
import { type FiatDepositRow, openDeposits } from "../onramps/deposits/store.ts";
import { type OnrampRow, openOnramps } from "../onramps/store.ts";
import { digestBeneficiary, digestRecipient, isPartOf } from "../partners/sandbox-digests.ts";
import { possibleBeneficiaries } from "../payment-details/payee.ts";
import { findPaymentDetails, toPaymentDetails } from "../payment-details/store.ts";
import type { Session } from "../platform/db/database.ts";
import { columnsOf } from "../platform/db/rows.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { isId } from "../platform/ids.ts";
import { eachPage, eachPageAbove } from "./checks.ts";

type Secrets = { keyring: Keyring; index_key: Buffer };

/**
 * Compares what the sandbox's bank and chain recorded, and what was queued for real chains, with
 * what was to be paid: the amount, the currency and the person.
 */
export async function verifyRecipients(
  session: Session,
  secrets: Secrets,
  account_id: string,
): Promise<string | null> {
  return (
    (await checkStrays(session, account_id)) ??
    (await checkPayouts(session, secrets, account_id)) ??
    (await checkRefunds(session, secrets, account_id)) ??
    (await checkOnramps(session, secrets, account_id)) ??
    checkReturns(session, secrets, account_id)
  );
}

/** The partners paid nothing that no record asked for. */
async function checkStrays(session: Session, account_id: string): Promise<string | null> {
  return (await checkStrayPayments(session, account_id)) ?? checkStraySends(session, account_id);
}

/** The attempts are looked up and not joined: they may be on another node than the payments. */
function checkStrayPayments(session: Session, account_id: string): Promise<string | null> {
  return eachPage<{ id: string }>(
    session,
    account_id,
    `select end_to_end_id as id from sandbox_bank_payouts
     where account_id = $1 and end_to_end_id > $2 order by end_to_end_id limit $3`,
    async (payments) => {
      const offramp_ids = payments.map(({ id }) => offrampIdOf(id)).filter((id) => id !== null);
      const sent = await session.query<{ end_to_end_id: string }>(
        `select end_to_end_id from payouts
         where account_id = $1 and offramp_id = any($2::uuid[]) and status <> 'recorded'`,
        [account_id, offramp_ids],
      );
      const known = new Set(sent.map(({ end_to_end_id }) => end_to_end_id));
      const stray = payments.find(({ id }) => !known.has(id));
      return stray ? `the bank has a payment ${stray.id} that was never sent` : null;
    },
    "",
  );
}

/** Keys of sends, and what is sent under them. */
const SENT_RECORDS = {
  refund: "select id from refunds where status in ('sending', 'sent')",
  onramp: "select id from onramps where delivery in ('sending', 'sent')",
} as const;

async function checkStraySends(session: Session, account_id: string): Promise<string | null> {
  for (const [kind, select] of Object.entries(SENT_RECORDS)) {
    const prefix = `${kind}:${account_id}:`;
    const fault = await eachPageAbove<{ key: string }>(
      {
        session,
        query: `select key from sandbox_sends
          where starts_with(key, $1) and key > $2 order by key limit $3`,
        values: [prefix],
        above: [""],
        keyOf: ({ key }) => [key],
      },
      async (sends) => {
        const ids = sends.map(({ key }) => key.slice(prefix.length));
        const sent = await session.query<{ id: string }>(
          `${select} and account_id = $1 and id = any($2::uuid[])`,
          [account_id, ids.filter(isId)],
        );
        const known = new Set(sent.map(({ id }) => prefix + id));
        const stray = sends.find(({ key }) => !known.has(key));
        return stray ? `the chain has a transfer ${stray.key} that was never sent` : null;
      },
    );
    if (fault) return fault;
  }
  return null;
}

type Attempt = {
  offramp_id: string;
  attempt: number;
  user_id: string;
  payment_detail_id: string;
  end_to_end_id: string;
  amount: bigint;
  currency: string;
};

/** What the sandbox's bank was asked to pay. */
type Payment = {
  end_to_end_id: string;
  amount: bigint;
  currency: string;
  /** Null in rows that are older than the digest. */
  beneficiary: Buffer | null;
};

function checkPayouts(session: Session, { keyring, index_key }: Secrets, account_id: string) {
  return eachPage<{ id: string }>(
    session,
    account_id,
    `select id from offramps where account_id = $1 and id > $2 and attempt > 0
     order by id limit $3`,
    async (offramps) => {
      const attempts = await session.query<Attempt>(
        `select p.offramp_id, p.attempt, o.user_id, p.payment_detail_id, p.end_to_end_id,
           o.destination_amount as amount, o.destination_currency as currency
         from payouts p
         join offramps o on o.account_id = p.account_id and o.id = p.offramp_id
         where p.account_id = $1 and p.offramp_id = any($2::uuid[])
         order by p.offramp_id, p.attempt`,
        [account_id, offramps.map(({ id }) => id)],
      );
      const payments = await session.query<Payment>(
        `select end_to_end_id, amount, currency, beneficiary from sandbox_bank_payouts
         where account_id = $1 and end_to_end_id = any($2::text[])`,
        [account_id, attempts.map(({ end_to_end_id }) => end_to_end_id)],
      );
      const payment_of = new Map(payments.map((payment) => [payment.end_to_end_id, payment]));
      const subjects = attempts.map(({ user_id }) => ({ account_id, subject_id: user_id }));
      const [rows, keys] = await Promise.all([
        findPaymentDetails(
          session,
          attempts.map(({ payment_detail_id }) => ({ account_id, id: payment_detail_id })),
        ),
        keyring.openSubjects(session, subjects),
      ]);
      const fields = new Map(toPaymentDetails(rows, keys).map((row) => [row.id, row.fields]));
      for (const { offramp_id, attempt, ...paid } of attempts) {
        const name = `offramp ${offramp_id} of account ${account_id}: its attempt ${attempt}`;
        const payment = payment_of.get(paid.end_to_end_id);
        if (!payment) continue;
        if (payment.amount !== paid.amount || payment.currency !== paid.currency) {
          return `${name} was paid with another amount or currency`;
        }
        const payee = fields.get(paid.payment_detail_id);
        // An erased person's account is unknown.
        const { beneficiary, end_to_end_id } = payment;
        if (!payee || !beneficiary) continue;
        const is_payee = possibleBeneficiaries(payee).some((told) =>
          isPartOf(beneficiary, digestBeneficiary(index_key, end_to_end_id, told)),
        );
        if (!is_payee) return `${name} was paid to somebody else`;
      }
      return null;
    },
  );
}

/** What a chain was asked to send under a key. */
type Sent = {
  key: string;
  /** Null until it is mined on a real chain. */
  sent_tx_id: string | null;
  is_as_asked: boolean;
  /** A digest; null in old rows, and on a real chain. */
  recipient: Buffer | null;
  /** On a real chain. */
  paid_to: string | null;
};

/** What a record asks a chain to send, under its key. */
type Asked = { key: string; chain: string; token: string; amount: bigint };

/**
 * Sends of the sandbox's chain, and of real ones, whose amount is in the token's own unit. They may
 * be on another node than the records that asked for them.
 */
function listSent(session: Session, asked: readonly Asked[]): Promise<Sent[]> {
  return session.query<Sent>(
    `select s.key, s.tx_id as sent_tx_id, s.recipient, s.paid_to,
       case when s.paid_to is null
         then s.recipient is null or (s.chain, s.token, s.amount) = (r.chain, r.token, r.amount)
         -- The digits of both are the same, whatever the unit.
         else s.chain = r.chain and trim(trailing '0' from s.units)
           = trim(trailing '0' from r.amount::text) end as is_as_asked
     from unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) as r (key, chain, token, amount)
     join (select key, tx_id, chain, token, amount, recipient, null as paid_to, null as units
         from sandbox_sends where key = any($1::text[])
       union all select key, tx_id, chain, null, null, null, action ->> 'to', action ->> 'amount'
       from evm_sends where key = any($1::text[])) s using (key)`,
    columnsOf(asked, "key", "chain", "token", "amount"),
  );
}

function checkSent(
  index_key: Buffer,
  name: string,
  sent: Sent & { tx_id: string | null | undefined },
  address: string | undefined,
): string | null {
  if (!sent.is_as_asked) return `${name}: the chain sent another amount, token or chain`;
  if (sent.tx_id !== undefined && sent.tx_id !== null && sent.tx_id !== sent.sent_tx_id) {
    return `${name}: the chain sent it in another transaction`;
  }
  if (address === undefined || (sent.recipient === null && sent.paid_to === null)) return null;
  const is_right =
    // A real chain has an EVM address, in lower case.
    sent.paid_to === lowerAscii(address) ||
    sent.recipient?.equals(digestRecipient(index_key, sent.key, address));
  return is_right ? null : `${name}: the chain sent it to another address`;
}

type RefundRow = {
  account_id: string;
  id: string;
  user_id: string;
  address: Buffer;
  tx_id: string | null;
  chain: string;
  token: string;
  amount: bigint;
  network_fee: bigint;
};

function checkRefunds(session: Session, secrets: Secrets, account_id: string) {
  return checkSends<RefundRow>(session, secrets, account_id, {
    name: "refund",
    table: "refunds",
    askedOf: ({ id, chain, token, amount, network_fee }) => ({
      ...{ key: `refund:${account_id}:${id}`, chain, token, amount: amount - network_fee },
    }),
    openAddresses: async (rows) => {
      const keys = await secrets.keyring.openUserKeys(session, rows);
      return rows.map((row) => {
        const key = keys.get(account_id, row.user_id);
        return key && openAddress("refunds", row, key);
      });
    },
  });
}

function checkOnramps(session: Session, secrets: Secrets, account_id: string) {
  return checkSends<OnrampRow>(session, secrets, account_id, {
    name: "onramp",
    table: "onramps",
    askedOf: ({ id, crypto_rails: chain, crypto_currency: token, destination_amount: amount }) => ({
      ...{ key: `onramp:${account_id}:${id}`, chain, token, amount },
    }),
    openAddresses: async (rows) => {
      const opened = await openOnramps(session, secrets.keyring, rows);
      const by_id = new Map(opened.map(({ onramp }) => [onramp.id, onramp.destination_address]));
      return rows.map((row) => by_id.get(row.id));
    },
  });
}

/** Tokens that could not be credited go back to their sender. */
function checkReturns(session: Session, secrets: Secrets, account_id: string) {
  return checkSends<FiatDepositRow & { tx_id?: undefined }>(session, secrets, account_id, {
    name: "deposit",
    table: "fiat_deposits",
    askedOf: ({ id, returns, bank_account, currency: token, amount }) => ({
      ...{ key: `deposit:${id}:${returns}`, chain: bank_account.split(":")[1] ?? "" },
      ...{ token, amount },
    }),
    openAddresses: async (rows) => {
      const opened = await openDeposits(session, secrets.keyring, rows);
      return opened.map(({ details }) => details.payer_name || undefined);
    },
  });
}

type Sending<Row> = {
  name: string;
  table: "refunds" | "onramps" | "fiat_deposits";
  askedOf: (row: Row) => Asked;
  openAddresses: (rows: readonly Row[]) => Promise<(string | undefined)[]>;
};

/** Compares each record that the chain was asked to pay; its address is unknown once erased. */
function checkSends<Row extends { id: string; tx_id?: string | null }>(
  session: Session,
  { index_key }: Secrets,
  account_id: string,
  { name, table, askedOf, openAddresses }: Sending<Row>,
) {
  const page = `select * from ${table} where account_id = $1 and id > $2 order by id limit $3`;
  return eachPage<Row>(session, account_id, page, async (rows) => {
    const sent = Map.groupBy(await listSent(session, rows.map(askedOf)), ({ key }) => key);
    const asked = rows.filter((row) => sent.has(askedOf(row).key));
    if (asked.length === 0) return null;
    const addresses = await openAddresses(asked);
    for (const [at, row] of asked.entries()) {
      for (const one of sent.get(askedOf(row).key)!) {
        const named = `${name} ${row.id} of account ${account_id}`;
        const fault = checkSent(index_key, named, { ...one, tx_id: row.tx_id }, addresses[at]);
        if (fault) return fault;
      }
    }
    return null;
  });
}
