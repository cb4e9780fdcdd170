import { Alert } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../../api.ts";
import { Failure } from "../../parts/states.tsx";
import { may, session } from "../../session.ts";

const SHOWN_MAX = 20;

/** Entries of sanctions lists that are like this person; for the operator's reviewers. */
export function Matches({ user_id }: { user_id: string }) {
  const isAsked = session.account.is_operator && may("review_screening");
  const { data, error, refetch } = useQuery({
    queryKey: ["person", user_id, "screening"],
    queryFn: () => api.screeningMatches.list({ status: "open", user_id, limit: SHOWN_MAX }).page(),
    enabled: isAsked,
  });
  if (!isAsked) return null;
  return (
    <section className="review-screening" aria-label="Screening">
      {error && <Failure error={error} onRetry={refetch} is_update={data !== undefined} />}
      {!data && !error && (
        <p className="quiet" aria-busy="true">
          Screening: looking for open matches …
        </p>
      )}
      {data?.records.length === 0 && (
        <p className="quiet">Screening: no open match with an entry of a list.</p>
      )}
      {data && data.records.length > 0 && (
        <Alert color="red" variant="light" title="Screening" role="alert">
          {data.has_more && `The newest ${SHOWN_MAX}: `}
          <ul className="review-matches">
            {data.records.map(({ id, person, listed, entry, score, verdict }) => (
              <li key={id}>
                {person.names.join(", ")} is like “{listed}” of the list {entry.list}:{" "}
                {Math.round(score * 100)} % alike,{" "}
                {verdict === "match" ? "a match" : "a possible match"}.
              </li>
            ))}
          </ul>
          Decide on <a href="/dashboard/screening">the screening page</a> first.
        </Alert>
      )}
    </section>
  );
}
