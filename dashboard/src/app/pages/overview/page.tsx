import { useQuery } from "@tanstack/react-query";
import { ask } from "../../api.ts";
import { PageHead } from "../../parts/page-head.tsx";
import { LOOK_EVERY_MS } from "../../parts/record-table.tsx";
import { Failure, Loading } from "../../parts/states.tsx";
import { BalanceCards } from "./balances.tsx";
import { Flows } from "./flows.tsx";
import { NeedsAttention, type Waiting } from "./needs-attention.tsx";
import { type VolumeData, Volumes } from "./volumes.tsx";

type Overview = VolumeData & { waiting: Waiting[] };

/** What somebody must look at, what is held, and what was paid out. */
export default function OverviewPage() {
  const { data, error, refetch } = useQuery({
    queryKey: ["overview"],
    queryFn: () => ask<Overview>("/overview"),
    // Of other accounts, banks, chains and receivers no event tells.
    refetchInterval: LOOK_EVERY_MS,
  });
  return (
    <>
      <PageHead title="Overview" />
      {data ? (
        <NeedsAttention waiting={data.waiting} />
      ) : error ? (
        <Failure error={error} onRetry={refetch} />
      ) : (
        <Loading />
      )}
      <BalanceCards />
      {data && (
        // Only then: what comes later must not push away what somebody reads or presses.
        <>
          <Volumes data={data} />
          <Flows />
        </>
      )}
    </>
  );
}
