import { useParams } from "wouter";
import { RequestDetail } from "./detail.tsx";
import { RequestList } from "./list.tsx";

/** Requests to the API. */
export default function LogsPage() {
  const { id } = useParams<{ id?: string }>();
  return id ? <RequestDetail id={id} /> : <RequestList />;
}
