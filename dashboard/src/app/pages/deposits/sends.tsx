import { ask } from "../../api.ts";
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
};

const COLUMNS: readonly Column<Send>[] = [
  {
    name: "What is sent",
    cell: ({ purpose, is_cancelled }) => (
      <span className="strong">
        {purpose.charAt(0).toUpperCase() + purpose.slice(1).replaceAll(/[-_]/g, " ")}
        {is_cancelled && ", being cancelled"}
      </span>
    ),
    is_title: true,
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
      load={async () => {
        const { sends } = await ask<{ sends: Send[] }>("/sends");
        return { rows: sends, has_more: false };
      }}
      columns={COLUMNS}
      empty={<Empty title="Nothing is on its way">Every transaction is final.</Empty>}
    />
  );
}
