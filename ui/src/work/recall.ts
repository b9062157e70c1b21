// Asking for what agents and rooms remember. Apart from the other calls, so that the first script does not grow by it.
import { ask } from "../api/client";
import type { Goal, Memory, Page, Passage, Plan } from "../api/nouns";

const id = encodeURIComponent;

export const recall = {
  // `of`: "agents" or "spaces", what an agent knows or a space remembers.
  passages: (of: string, owner: string, query: { q?: string; tags?: string; limit?: number; cursor?: string }) =>
    ask<Page<Passage> & { note?: string }>("GET", `/${of}/${id(owner)}/passages`, { query }),
  addPassage: (of: string, owner: string, body: object) => ask<Passage>("POST", `/${of}/${id(owner)}/passages`, { body }),
  updatePassage: (passage: string, body: object) => ask<Passage>("PATCH", `/passages/${id(passage)}`, { body }),
  deletePassage: (passage: string) => ask<void>("DELETE", `/passages/${id(passage)}`),
  goals: (agent: string) => ask<Page<Goal>>("GET", `/agents/${id(agent)}/goals`),
  putGoal: (agent: string, goal: object, spaceId?: string) => ask<Page<Goal>>("PUT", `/agents/${id(agent)}/goals`, { body: { goals: [goal] }, query: { spaceId } }),
  deleteGoal: (agent: string, goal: string, spaceId?: string) => ask<void>("DELETE", `/agents/${id(agent)}/goals/${id(goal)}`, { query: { spaceId } }),
  memories: (agent: string) => ask<Page<Memory>>("GET", `/agents/${id(agent)}/memories`),
  putMemory: (agent: string, memory: object, spaceId?: string) =>
    ask<Page<Memory>>("PUT", `/agents/${id(agent)}/memories`, { body: { memories: [memory] }, query: { spaceId } }),
  deleteMemory: (agent: string, key: string, spaceId?: string) => ask<void>("DELETE", `/agents/${id(agent)}/memories`, { query: { key, spaceId } }),
  plans: (agent: string) => ask<Page<Plan>>("GET", `/agents/${id(agent)}/plans`),
  putPlan: (agent: string, plan: object, spaceId?: string) => ask<Page<Plan>>("PUT", `/agents/${id(agent)}/plans`, { body: { plans: [plan] }, query: { spaceId } }),
  deletePlan: (agent: string, plan: string, spaceId?: string) => ask<void>("DELETE", `/agents/${id(agent)}/plans/${id(plan)}`, { query: { spaceId } }),
};
