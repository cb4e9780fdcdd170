import { Select, Stack, Tabs } from "@mantine/core";
import { useParams } from "wouter";
import { DownloadRecords } from "../../parts/download-records.tsx";
import { useFilters } from "../../parts/filters.ts";
import { PageHead } from "../../parts/page-head.tsx";
import { plainText } from "../../parts/plain-text.ts";
import { ShowMore } from "../../parts/show-more.tsx";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { type ApprovalList, type ApprovalPage, loadApprovals, useApprovals } from "./approval.ts";
import { ApprovalCard } from "./card.tsx";
import { ProposedPayouts } from "./payouts.tsx";

const TABS = {
  mine: ["Waiting for you", "Nothing waits for you", "What others ask for appears here."],
  waiting: ["All waiting", "Nothing waits", "What needs two people appears here."],
  decided: ["Decided", "Nothing was decided yet", "Approved and rejected requests appear here."],
} as const satisfies Record<ApprovalList, unknown>;
const LISTS = Object.keys(TABS) as ApprovalList[];

/** What needs two people: everything to judge it, and the vote. */
export default function ApprovalsPage() {
  const { id } = useParams<{ id?: string }>();
  return id ? <ProposedPayouts id={id} /> : <Approvals />;
}

function Approvals() {
  const { filters, setFilter } = useFilters();
  const { by } = filters;
  const tab = LISTS.find((name) => name === filters.tab) ?? "mine";
  const lists = {
    mine: useApprovals("mine", by),
    waiting: useApprovals("waiting", by),
    decided: useApprovals("decided", by),
  };
  const listed = lists[tab];
  const shown = listed.data?.pages.flatMap(({ approvals }) => approvals) ?? [];
  const [name, title, text] = TABS[tab];
  return (
    <>
      <PageHead title="Approvals" />
      <Tabs
        value={tab}
        onChange={(next) => setFilter("tab", next === "mine" ? null : next)}
        mb="md"
      >
        <Tabs.List aria-label="Approvals">
          {LISTS.map((list) => (
            <Tabs.Tab key={list} value={list}>
              {TABS[list][0]}
              {list !== "decided" && sayCount(lists[list].data?.pages[0]?.proposers, by)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </Tabs>
      <ProposerSelect
        here={listed.data?.pages[0]?.proposers ?? []}
        anywhere={LISTS.flatMap((list) => lists[list].data?.pages[0]?.proposers ?? [])}
        value={by ?? null}
        onChange={(next) => setFilter("by", next)}
      />
      {listed.isPending && <Loading />}
      {listed.isError && <Failure error={listed.error} onRetry={() => listed.refetch()} />}
      {listed.isSuccess && shown.length === 0 && <Empty title={title}>{text}</Empty>}
      {shown.length > 0 && (
        <DownloadRecords
          label={`Approvals ${name}`}
          load={async (starting_after) => {
            const { approvals: rows, last_id } = await loadApprovals(tab, by, starting_after);
            return { rows, has_more: last_id !== null, next: last_id };
          }}
        />
      )}
      <Stack>
        {shown.map((approval) => (
          <ApprovalCard key={approval.id} approval={approval} />
        ))}
      </Stack>
      <ShowMore listed={listed} />
    </>
  );
}

type Proposers = ApprovalPage["proposers"];

/** How many the whole list has, also of those that are not loaded. */
function sayCount(proposers: Proposers = [], by: string | undefined): string {
  const counted = proposers.filter(({ proposed_by }) => !by || proposed_by === by);
  const count = counted.reduce((sum, one) => sum + one.count, 0);
  return count > 0 ? ` (${count})` : "";
}

/** Whoever proposes much must not hide what others propose. */
function ProposerSelect(props: {
  here: Proposers;
  /** Also of the other lists: who is chosen there keeps their name here. */
  anywhere: Proposers;
  value: string | null;
  onChange: (value: string | null) => void;
}) {
  const { here, anywhere, value, onChange } = props;
  const names = new Map(anywhere.map(({ proposed_by, name }) => [proposed_by, name]));
  if (value !== null && !names.has(value)) names.set(value, plainText(value));
  if (names.size < 2 && value === null) return null;
  const counts = new Map(here.map(({ proposed_by, count }) => [proposed_by, count]));
  return (
    <Select
      label="Asked by"
      className="filter"
      placeholder="Everybody"
      mb="md"
      clearable
      searchable
      data={[...names].map(([id, name]) => ({
        value: id,
        label: `${name} (${counts.get(id) ?? 0})`,
      }))}
      value={value}
      onChange={onChange}
    />
  );
}
