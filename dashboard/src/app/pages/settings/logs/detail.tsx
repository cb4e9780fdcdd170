import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { Copied, Fact } from "../../../parts/fact.tsx";
import { Moment } from "../../../parts/moment.tsx";
import { PageHead } from "../../../parts/page-head.tsx";
import { Failure, Loading } from "../../../parts/states.tsx";
import { nameActor } from "../audit/sentences.ts";
import { type LoggedRequest, loadRequest, type Names, pageOfRecord } from "./request.ts";

/** One request: what was asked, by whom, and why it was refused. */
export function RequestDetail({ id }: { id: string }) {
  const shown = useQuery({
    queryKey: ["requests", "one", id],
    queryFn: () => loadRequest(id),
  });
  return (
    <>
      <nav aria-label="Back" className="back">
        <Link href="/settings/developer/logs">‹ Logs</Link>
      </nav>
      <PageHead title={`Request …${id.slice(-8)}`} />
      {shown.isPending && <Loading />}
      {shown.isError && (
        <Failure
          error={shown.error}
          onRetry={() => shown.refetch()}
          is_update={shown.data !== undefined}
        />
      )}
      {shown.data && <Shown {...shown.data} />}
    </>
  );
}

function Shown({ request, names }: { request: LoggedRequest; names: Names }) {
  const record = pageOfRecord(request.path);
  return (
    <section className="card facts" aria-label="The request">
      <dl>
        <Fact name="Request id">
          <Copied text={request.id} label="the request id" is_code />
        </Fact>
        <Fact name="Time">
          <Moment at={request.at} is_exact />
        </Fact>
        <Fact name="Request">
          <code className="breakable">
            {request.method} {request.path}
          </code>
        </Fact>
        <Fact name="Answer">
          <StatusCode request={request} /> after {request.duration_ms} ms
        </Fact>
        <Fact name="Who">{nameActor(request, { names })}</Fact>
        {record && (
          <Fact name="About">
            <Link href={record.path}>{record.name}</Link>
          </Fact>
        )}
        {request.error_code && (
          <Fact name="Why">
            <a href={`/docs/errors#${request.error_code}`}>What {request.error_code} means</a>
          </Fact>
        )}
        {request.problems.map(([field, code]) => (
          <Fact key={`${field} ${code}`} name="Field">
            <code className="breakable">{field}</code>: {code}
          </Fact>
        ))}
      </dl>
    </section>
  );
}

export function StatusCode({ request }: { request: LoggedRequest }) {
  const { status, error_code } = request;
  const family = status < 400 ? "done" : status < 500 ? "waiting" : "failed";
  return (
    <span className={`chip chip-${family}`}>
      {status} {error_code ?? ""}
    </span>
  );
}
