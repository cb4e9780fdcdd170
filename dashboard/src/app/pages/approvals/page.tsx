import { Button, Center, Stack, Tabs } from "@mantine/core";
import { useParams } from "wouter";
import { DownloadAll } from "../../parts/download-records.tsx";
import { useFilters } from "../../parts/filters.ts";
import { PageHead } from "../../parts/page-head.tsx";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { type Approval, isMine, useApprovals, useDecided } from "./approval.ts";
import { ApprovalCard } from "./card.tsx";
import { ProposedPayouts } from "./payouts.tsx";

const TABS = {
  mine: ["Waiting for you", "Nothing waits for you", "What others ask for appears here."],
  all: ["All waiting", "Nothing waits", "What needs two people appears here."],
  decided: ["Decided", "Nothing was decided yet", "Approved and rejected requests appear here."],
} as const;
type Tab = keyof typeof TABS;

/** What needs two people: everything to judge it, and the vote. */
export default function ApprovalsPage() {
  const { id } = useParams<{ id?: string }>();
  return id ? <ProposedPayouts id={id} /> : <ApprovalList />;
}

function ApprovalList() {
  const { filters, setFilter } = useFilters();
  const tab: Tab = filters.tab === "all" || filters.tab === "decided" ? filters.tab : "mine";
  const waiting = useApprovals();
  const decided = useDecided();
  const pending = waiting.data?.pages.flatMap((page) => page.pending) ?? [];
  const shown: Readonly<Record<Tab, readonly Approval[]>> = {
    mine: pending.filter(isMine),
    all: pending,
    decided: decided.data?.pages.flatMap((page) => page.ended) ?? [],
  };
  const listed = tab === "decided" ? decided : waiting;
  const [, title, text] = TABS[tab];
  return (
    <>
      <PageHead title="Approvals" />
      <Tabs
        value={tab}
        onChange={(next) => setFilter("tab", next === "mine" ? null : next)}
        mb="md"
      >
        <Tabs.List aria-label="Approvals">
          {(Object.keys(TABS) as Tab[]).map((name) => (
            <Tabs.Tab key={name} value={name}>
              {TABS[name][0]}
              {name !== "decided" && shown[name].length > 0 && ` (${shown[name].length})`}
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </Tabs>
      {listed.isPending && <Loading />}
      {listed.isError && <Failure error={listed.error} onRetry={() => listed.refetch()} />}
      {listed.isSuccess && shown[tab].length === 0 && <Empty title={title}>{text}</Empty>}
      <DownloadAll label={`Approvals ${TABS[tab][0]}`} rows={shown[tab]} />
      <Stack>
        {shown[tab].map((approval) => (
          <ApprovalCard key={approval.id} approval={approval} />
        ))}
      </Stack>
      {listed.hasNextPage && (
        <Center mt="md">
          <Button
            variant="default"
            loading={listed.isFetchingNextPage}
            onClick={() => listed.fetchNextPage()}
          >
            Show older ones
          </Button>
        </Center>
      )}
    </>
  );
}
