import { ask } from "../../api.ts";
import { Amount } from "../../parts/amount.tsx";
import { chainName } from "../../parts/chain-name.ts";
import { Copied } from "../../parts/fact.tsx";
import { Moment } from "../../parts/moment.tsx";
import { type Column, LOOK_EVERY_MS, RecordTable } from "../../parts/record-table.tsx";
import { Empty } from "../../parts/states.tsx";
import { StatusChip } from "../../parts/status-chip.tsx";

/** A transaction on a real chain that is not final. */
type Send = {
  id: string;
  purpose: string;
  chain: string;
  state: string;
  state_since: string;
  problem: string | null;
  is_cancelled: boolean;
  tx_id: string | null;
  /** Null where it pays nobody. */
  amount: string | null;
  token: string | null;
  person: string | null;
  account: string | null;
};

const PURPOSES: Readonly<Record<string, string>> = {
  refund: "Refund",
  onramp: "Coins of an onramp",
  deposit: "Coins that go back",
  sweep: "Collection of deposits",
  nonce: "Nothing, to use up a number",
};

const COLUMNS: readonly Column<Send>[] = [
  {
    name: "What is sent",
    cell: ({ purpose, is_cancelled, person, account }) => (
      <div>
        <div className="strong">
          {PURPOSES[purpose] ?? purpose}
          {person && ` for ${person}`}
          {is_cancelled && ", being cancelled"}
        </div>
        {account && <div className="quiet">{account}</div>}
      </div>
    ),
    is_title: true,
  },
  {
    name: "Amount",
    cell: ({ amount, token }) =>
      amount && token ? <Amount value={amount} currency={token} /> : "–",
    is_amount: true,
  },
  { name: "Chain", cell: ({ chain }) => chainName(chain) },
  { name: "State", cell: ({ state }) => <StatusChip status={state} family="working" /> },
  { name: "In it since", cell: ({ state_since }) => <Moment at={state_since} /> },
  { name: "Problem", cell: ({ problem }) => problem ?? "–" },
  {
    name: "Transaction",
    cell: ({ tx_id }) =>
      tx_id ? <Copied text={tx_id} short={`${tx_id.slice(0, 10)}…`} label="id" is_code /> : "–",
  },
];

/** What leaves on real chains, until it is final: the oldest is the one that may be stuck. */
export function OpenSends() {
  return (
    <RecordTable
      label="Transactions that are not final, oldest first"
      query_key={["deposits", "sends"]}
      look_every_ms={LOOK_EVERY_MS}
      load={loadSends}
      columns={COLUMNS}
      empty={<Empty title="Nothing is on its way">Every transaction is final.</Empty>}
    />
  );
}

type SendPage = { sends: Send[]; has_more: boolean; last_number: string | null };

async function loadSends(starting_after?: string) {
  const page = await ask<SendPage>("/sends", { starting_after });
  return { rows: page.sends, has_more: page.has_more, next: page.last_number };
}
