import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { ask } from "../../api.ts";
import { DownloadRecords } from "../../parts/download-records.tsx";
import { Moment } from "../../parts/moment.tsx";
import { ShowMore } from "../../parts/show-more.tsx";
import { Failure, Loading } from "../../parts/states.tsx";
import { StatusChip, statusName } from "../../parts/status-chip.tsx";
import { may } from "../../session.ts";

type Delivery = {
  app_id: string;
  app_name: string;
  status: "pending" | "delivered" | "failed" | "skipped";
  reason: string | null;
  attempts: number;
  answered: number | null;
  latency_ms: number | null;
  next_attempt_at: string | null;
};
type SentEvent = {
  id: string;
  name: string;
  to_status: string;
  created_at: string;
  deliveries: Delivery[];
};

const FAMILIES = {
  pending: "working",
  delivered: "done",
  failed: "failed",
  skipped: "waiting",
} as const;

/** What was told to apps about a payout. */
export function PayoutWebhooks({ id }: { id: string }) {
  const load = (starting_after: string | undefined) => loadEvents(id, starting_after);
  const listed = useInfiniteQuery({
    queryKey: ["payout", id, "webhooks"],
    queryFn: ({ pageParam }) => load(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ rows, has_more }) => (has_more ? rows.at(-1)?.id : undefined),
  });
  if (listed.isPending) return <Loading />;
  if (!listed.data) return <Failure error={listed.error} onRetry={() => listed.refetch()} />;
  const events = listed.data.pages.flatMap(({ rows }) => rows);
  const sent = events.filter(({ deliveries }) => deliveries.length > 0);
  if (sent.length === 0 && !listed.hasNextPage) {
    return (
      <p className="panel-none">
        Nothing was sent about this payout. An app receives what happens after it was set up.{" "}
        {may("manage_apps") && <Link href="/settings/developer/apps">See the apps</Link>}
      </p>
    );
  }
  return (
    <>
      {listed.isError && (
        <Failure error={listed.error} onRetry={() => listed.refetch()} is_update />
      )}
      <DownloadRecords label="Webhooks of a payout" load={load} fileRowsOf={fileRowsOf} />
      {sent.map((event) => (
        <SentEventTable key={event.id} event={event} />
      ))}
      <ShowMore listed={listed} />
    </>
  );
}

async function loadEvents(id: string, starting_after: string | undefined) {
  const page = await ask<{ events: SentEvent[]; has_more: boolean }>(`/records/${id}/webhooks`, {
    starting_after,
  });
  return { rows: page.events, has_more: page.has_more };
}

/** Each delivery is a row of its own. */
function fileRowsOf({ id, name, to_status, created_at, deliveries }: SentEvent): object[] {
  return deliveries.map((delivery) => ({ event_id: id, name, to_status, created_at, ...delivery }));
}

function SentEventTable({ event }: { event: SentEvent }) {
  return (
    <section className="posting">
      <div className="step-head">
        <h3>
          {statusName(event.to_status)} <code className="quiet">{event.name}</code>
        </h3>
        <Moment at={event.created_at} />
      </div>
      <table>
        <thead>
          <tr>
            <th scope="col">App</th>
            <th scope="col">Delivery</th>
            <th scope="col" className="right">
              Answer
            </th>
          </tr>
        </thead>
        <tbody>
          {event.deliveries.map((delivery) => (
            <DeliveryRow key={delivery.app_id} delivery={delivery} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function DeliveryRow({ delivery }: { delivery: Delivery }) {
  const { app_id, app_name, status, reason, attempts, answered, latency_ms } = delivery;
  return (
    <tr>
      <td>
        {may("see_apps") ? (
          <Link href={`/settings/developer/apps/${app_id}`}>{app_name}</Link>
        ) : (
          app_name
        )}
      </td>
      <td>
        <StatusChip status={status === "pending" ? "waiting" : status} family={FAMILIES[status]} />
        {attempts > 1 && <span className="quiet"> after {attempts} attempts</span>}
        {reason && <div className="quiet">{reason}</div>}
      </td>
      <td className="right">{answered ? `${answered} in ${latency_ms} ms` : "–"}</td>
    </tr>
  );
}
