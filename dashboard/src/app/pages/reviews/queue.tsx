import { Tabs } from "@mantine/core";
import { BackLink } from "../../parts/back-link.tsx";
import { useFilters } from "../../parts/filters.ts";
import { Moment } from "../../parts/moment.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { type Column, LOOK_EVERY_MS, RecordTable } from "../../parts/record-table.tsx";
import { Empty } from "../../parts/states.tsx";
import { StatusChip } from "../../parts/status-chip.tsx";
import { session } from "../../session.ts";
import { identityName } from "../people/identity-chip.tsx";
import { loadQueue, QUEUES, type QueueRow, reviewPath } from "./review.ts";

type Row = QueueRow & { id: string };

const COLUMNS: readonly Column<Row>[] = [
  {
    name: "Name",
    cell: (row) => <span className="strong">{row.name || "Not given yet"}</span>,
    is_title: true,
  },
  {
    name: "Kind",
    cell: (row) => (row.beneficiary_type === "business" ? "Business" : "Person"),
  },
  { name: "Since", cell: (row) => <Moment at={row.updated_at} /> },
  {
    name: "Decision",
    cell: (row) =>
      row.is_proposed ? (
        <StatusChip status="second_vote" family="needs_you" />
      ) : (
        <span className="none">–</span>
      ),
  },
];
const ACCOUNT: Column<Row> = { name: "Account", cell: (row) => row.account_name };

/** Whose identity waits for a reviewer, the oldest first; and who was decided on. */
export function ReviewQueue() {
  const { filters, setFilter } = useFilters();
  const status = QUEUES.find((known) => known === filters.status) ?? "awaiting_manual_review";
  const isQueue = status === "awaiting_manual_review";
  const load = async (after: string | undefined) => {
    const [since, user_id] = after?.split(" ") ?? [];
    const place = since && user_id ? { since, after: user_id } : {};
    const page = await loadQueue({ status, ...place });
    const last = page.reviews.at(-1);
    return {
      rows: page.reviews.map((row) => ({ ...row, id: row.user_id })),
      has_more: page.has_more,
      next: last ? `${last.updated_at} ${last.user_id}` : null,
    };
  };
  return (
    <>
      <BackLink name="People" path="/people" />
      <PageHead title="Identity reviews" />
      <Tabs
        value={status}
        mb="md"
        onChange={(next) => setFilter("status", next === "awaiting_manual_review" ? null : next)}
      >
        <Tabs.List aria-label="Queue">
          {QUEUES.map((queue) => (
            <Tabs.Tab key={queue} value={queue}>
              {identityName(queue)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </Tabs>
      <RecordTable
        label={`Identity reviews, ${isQueue ? "longest waiting" : "newest"} first`}
        query_key={["people", "reviews", status]}
        look_every_ms={LOOK_EVERY_MS}
        load={load}
        columns={session.account.is_operator ? [...COLUMNS, ACCOUNT] : COLUMNS}
        pathOf={reviewPath}
        empty={
          <Empty title={isQueue ? "Nothing waits" : "Nobody here"}>
            {isQueue ? "Every identity that was submitted is decided." : "Nobody is in this state."}
          </Empty>
        }
      />
    </>
  );
}
