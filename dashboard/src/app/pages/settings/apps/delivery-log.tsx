import { SegmentedControl } from "@mantine/core";
import type { App } from "@sliproad/sdk";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Fragment, useState } from "react";
import { DownloadRecords } from "../../../parts/download-records.tsx";
import { Icon } from "../../../parts/icons.tsx";
import { Moment } from "../../../parts/moment.tsx";
import { ShowMore } from "../../../parts/show-more.tsx";
import { Empty, Failure, Loading } from "../../../parts/states.tsx";
import { StatusChip } from "../../../parts/status-chip.tsx";
import { type Delivery, loadDeliveries, REFRESH_MS } from "./app.ts";
import { DeliveryRequest } from "./delivery-request.tsx";

const FILTERS = [
  { value: "all", label: "All" },
  { value: "pending", label: "Waiting" },
  { value: "delivered", label: "Delivered" },
  { value: "failed", label: "Failed" },
  { value: "skipped", label: "Skipped" },
];

const FAMILIES = {
  pending: ["Waiting", "working"],
  delivered: ["Delivered", "done"],
  failed: ["Failed", "failed"],
  skipped: ["Skipped", "waiting"],
} as const;

/** What was sent to the endpoint, newest first; a row unfolds to its request and answers. */
export function DeliveryLog({ app }: { app: App }) {
  const [filter, setFilter] = useState("all");
  const status = filter === "all" ? undefined : filter;
  const listed = useInfiniteQuery({
    queryKey: ["deliveries", app.id, filter],
    queryFn: ({ pageParam }) => loadDeliveries(app.id, { status, after: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
    refetchInterval: REFRESH_MS,
  });
  const load = async (after: string | undefined) => {
    const page = await loadDeliveries(app.id, { status, after });
    return { rows: page.deliveries, has_more: page.next !== null, next: page.next };
  };
  const deliveries = listed.data?.pages.flatMap((page) => page.deliveries) ?? [];
  return (
    <section aria-labelledby="log-title" className="log">
      <div className="card-head">
        <h2 id="log-title">Delivery log</h2>
        <SegmentedControl
          className="log-filter"
          aria-label="State of deliveries"
          size="xs"
          data={FILTERS}
          value={filter}
          onChange={setFilter}
        />
      </div>
      {listed.isPending && <Loading />}
      {listed.isError && (
        <Failure
          error={listed.error}
          onRetry={() => listed.refetch()}
          is_update={listed.data !== undefined}
        />
      )}
      {listed.data && deliveries.length === 0 && (
        <Empty title={status ? "None in this state" : "Nothing was sent yet"}>
          {status ? "" : "Every event that is sent to this app is listed here."}
        </Empty>
      )}
      {deliveries.length > 0 && (
        <>
          <DownloadRecords label="Deliveries" load={load} />
          <DeliveryTable deliveries={deliveries} />
        </>
      )}
      <ShowMore listed={listed} />
    </section>
  );
}

function DeliveryTable({ deliveries }: { deliveries: readonly Delivery[] }) {
  const [open, setOpen] = useState<string | null>(null);
  return (
    <table className="records log-table" aria-label="Deliveries, newest first">
      <thead>
        <tr>
          <th scope="col">Event</th>
          <th scope="col">State</th>
          <th scope="col">Answer</th>
          <th scope="col">Tries</th>
          <th scope="col">Time</th>
        </tr>
      </thead>
      <tbody>
        {deliveries.map((delivery) => (
          <Fragment key={delivery.id}>
            <DeliveryRow
              delivery={delivery}
              isOpen={open === delivery.id}
              onToggle={() => setOpen(open === delivery.id ? null : delivery.id)}
            />
            {open === delivery.id && (
              <tr className="unfolded">
                <td colSpan={5}>
                  <DeliveryRequest delivery={delivery} />
                </td>
              </tr>
            )}
          </Fragment>
        ))}
      </tbody>
    </table>
  );
}

function DeliveryRow(props: { delivery: Delivery; isOpen: boolean; onToggle: () => void }) {
  const { delivery, isOpen, onToggle } = props;
  const [name, family] = FAMILIES[delivery.status];
  return (
    <tr>
      <td data-label="Event" className="title">
        <button
          type="button"
          className="unfold"
          aria-expanded={isOpen}
          onClick={onToggle}
          aria-label={`${delivery.event}, ${name}`}
        >
          <Icon name={isOpen ? "fold" : "unfold"} size={14} />
          <span className="strong">{delivery.event}</span>
        </button>
      </td>
      <td data-label="State">
        <StatusChip status={name} family={family} />
        {delivery.reason && <div className="quiet why">{delivery.reason}</div>}
      </td>
      <td data-label="Answer">
        <LastAnswer delivery={delivery} />
      </td>
      <td data-label="Tries">{delivery.attempts.at(-1)?.number ?? 0}</td>
      <td data-label="Time">
        <Moment at={delivery.created_at} />
      </td>
    </tr>
  );
}

function LastAnswer({ delivery }: { delivery: Delivery }) {
  const last = delivery.attempts.at(-1);
  if (!last) return <span className="none">–</span>;
  return (
    <div>
      {last.status === null ? (last.error ?? "No answer") : `HTTP ${last.status}`}
      <div className="quiet">{last.latency_ms} ms</div>
    </div>
  );
}
