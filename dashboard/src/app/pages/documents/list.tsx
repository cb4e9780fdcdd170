import { Tabs } from "@mantine/core";
import { Amount } from "../../parts/amount.tsx";
import { useFilters } from "../../parts/filters.ts";
import { Moment } from "../../parts/moment.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { type Column, LOOK_EVERY_MS, RecordTable } from "../../parts/record-table.tsx";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { StatusChip } from "../../parts/status-chip.tsx";
import { session } from "../../session.ts";
import {
  type DocumentState,
  loadDocuments,
  type ReviewedDocument,
  useIsReviewer,
} from "./document.ts";

const TABS = {
  to_check: ["To check", "Nothing to check", "Payouts that wait for the check of their document."],
  rejected: ["Rejected", "Nothing was rejected", "Rejected documents of payouts that still wait."],
} as const;

const PAYEE: Column<ReviewedDocument> = {
  name: "Payee",
  cell: ({ payee }) => <span className="strong">{payee?.holder ?? "Erased"}</span>,
  is_title: true,
};
const ACCOUNT: Column<ReviewedDocument> = {
  name: "Account",
  cell: ({ account_name }) => account_name ?? session.account.name,
};
const COMMON: readonly Column<ReviewedDocument>[] = [
  { name: "Paid by", cell: ({ payer }) => payer ?? "Erased" },
  {
    name: "Amount",
    cell: ({ amount, currency }) => <Amount value={amount} currency={currency} />,
    is_amount: true,
  },
  { name: "Reference", cell: ({ reference }) => reference || "–" },
];
const TO_CHECK: readonly Column<ReviewedDocument>[] = [
  { name: "Payout created", cell: ({ created_at }) => <Moment at={created_at} /> },
];
const REJECTED: readonly Column<ReviewedDocument>[] = [
  { name: "Why it was rejected", cell: ({ comment }) => comment ?? "No reason was given" },
  {
    name: "State",
    cell: ({ is_proposed }) =>
      is_proposed ? (
        <StatusChip status="approval_asked_for" family="needs_you" />
      ) : (
        <StatusChip status="rejected" />
      ),
  },
];

/** The documents that this account checks: its own, or all where it is the operator's. */
export function DocumentList() {
  const { filters, setFilter } = useFilters();
  const state: DocumentState = filters.tab === "rejected" ? "rejected" : "to_check";
  const reviewer = useIsReviewer();
  const [, title, text] = TABS[state];
  return (
    <>
      <PageHead title="Documents" />
      {reviewer.isPending && <Loading />}
      {reviewer.isError && <Failure error={reviewer.error} onRetry={() => reviewer.refetch()} />}
      {reviewer.data === false && (
        <Empty title="The operator checks the documents of this account">
          If one was rejected, attach another file on the page of its payout.
        </Empty>
      )}
      {reviewer.data && (
        <>
          <Tabs
            value={state}
            onChange={(next) => setFilter("tab", next === "to_check" ? null : next)}
            mb="md"
          >
            <Tabs.List aria-label="Documents">
              {(Object.keys(TABS) as DocumentState[]).map((name) => (
                <Tabs.Tab key={name} value={name}>
                  {TABS[name][0]}
                </Tabs.Tab>
              ))}
            </Tabs.List>
          </Tabs>
          <RecordTable
            label={`Documents, ${TABS[state][0].toLowerCase()}, newest payout first`}
            query_key={["documents", "list", state]}
            load={(starting_after) => loadDocuments(state, starting_after)}
            look_every_ms={LOOK_EVERY_MS}
            columns={[
              PAYEE,
              ...(session.account.is_operator ? [ACCOUNT] : []),
              ...COMMON,
              ...(state === "rejected" ? REJECTED : TO_CHECK),
            ]}
            pathOf={({ id }) => `/documents/${id}`}
            empty={<Empty title={title}>{text}</Empty>}
          />
        </>
      )}
    </>
  );
}
