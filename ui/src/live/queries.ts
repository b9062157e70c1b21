// Questions to the server whose answers several views share.
import { QueryClient } from "@tanstack/react-query";
import { Problem } from "../api/client";

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (count, error) => count < 2 && error instanceof Problem && error.passes,
      refetchOnWindowFocus: false,
    },
  },
});
