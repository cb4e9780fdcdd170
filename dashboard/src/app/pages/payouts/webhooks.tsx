import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { ask } from "../../api.ts";
import { Moment } from "../../parts/moment.tsx";
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

/** What was told to applications about a payout. */
export function PayoutWebhooks({ id }: { id: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ["payout", id, "webhooks"],
    queryFn: () => ask<{ events: SentEvent[] }>(`/records/${id}/webhooks`),
  });
  if (error) return <Failure error={error} onRetry={refetch} />;
  if (!data) return <Loading />;
  const sent = data.events.filter(({ deliveries }) => deliveries.length > 0);
  if (sent.length === 0) {
    return (
      <p className="panel-none">
        No application receives webhooks of payouts.{" "}
        {may("manage_apps") && <Link href="/settings/developer/apps">Set one up</Link>}
      </p>
    );
  }
  return sent.map((event) => (
    <section key={event.id} className="posting">
      <div className="step-head">
        <h3>
          {statusName(event.to_status)} <code className="quiet">{event.name}</code>
        </h3>
        <Moment at={event.created_at} />
      </div>
      <table>
        <thead>
          <tr>
            <th scope="col">Application</th>
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
  ));
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
        <StatusChip status={status} family={FAMILIES[status]} />
        {attempts > 1 && <span className="quiet"> after {attempts} attempts</span>}
        {reason && <div className="quiet">{reason}</div>}
      </td>
      <td className="right">{answered ? `${answered} in ${latency_ms} ms` : "–"}</td>
    </tr>
  );
}
