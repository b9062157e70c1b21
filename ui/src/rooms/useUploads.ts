import { useState } from "react";
import { upload } from "../api/client";
import type { File_ } from "../api/nouns";
import { sentence } from "../api/problems";

type Upload = { key: number; name: string; share: number; file?: File_; problem?: string; stop(): void };
let next = 1;

export function useUploads(spaceId: string) {
  const [list, setList] = useState<Upload[]>([]);
  const patch = (key: number, change: Partial<Upload>): void =>
    setList((before) => before.map((each) => (each.key === key ? { ...each, ...change } : each)));
  return {
    list,
    ready: list.flatMap((each) => (each.file ? [each.file] : [])),
    busy: list.some((each) => !each.file && !each.problem),
    add(files: File[]): void {
      for (const file of files.slice(0, 10)) {
        const key = next++;
        const begun = upload(file, spaceId, (share) => patch(key, { share }));
        setList((before) => [...before, { key, name: file.name, share: 0, stop: begun.stop }]);
        begun.done.then(
          (made) => patch(key, { file: made, share: 1 }),
          (error: unknown) => patch(key, { problem: sentence(error) }),
        );
      }
    },
    remove(key: number): void {
      list.find((each) => each.key === key)?.stop();
      setList((before) => before.filter((each) => each.key !== key));
    },
    clear: (): void => setList([]),
  };
}
