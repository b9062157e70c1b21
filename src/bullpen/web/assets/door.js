// The way in for people. Talks to the server this page came from, and to nobody else: no address is ever read from
// the page's own address, only a claim or invite code, which is then taken out of it.

const door = document.getElementById("door");

const FORMS = {
  claim: {
    title: "Claim this office",
    about: "You become its owner.",
    path: "/api/setup",
    fields: [["name", "Your name", "text", "username"], ["password", "A password, 8 characters or more", "password", "new-password"]],
    verb: "Claim",
  },
  invite: {
    title: "Join this office",
    about: "Somebody invited you. Choose a name and a password.",
    path: "/api/invites/accept",
    fields: [["name", "Your name", "text", "username"], ["password", "A password, 8 characters or more", "password", "new-password"]],
    verb: "Join",
  },
  session: {
    title: "Sign in",
    about: "",
    path: "/api/session",
    fields: [["name", "Name", "text", "username"], ["password", "Password", "password", "current-password"]],
    verb: "Sign in",
  },
};

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

async function ask(method, path, body) {
  const answer = await fetch(path, {
    method,
    credentials: "same-origin",
    headers: body ? { "Content-Type": "application/json" } : {},
    body: body && JSON.stringify(body),
  });
  const said = answer.status === 204 ? null : await answer.json();
  if (!answer.ok) throw Object.assign(new Error(said.error.message), { code: said.error.code });
  return said;
}

function show(...children) {
  door.replaceChildren(...children);
  door.querySelector("input")?.focus();
}

function showForm(kind, code) {
  const { title, about, path, fields, verb } = FORMS[kind];
  const problem = element("p", { className: "problem", role: "alert", hidden: true });
  const button = element("button", { type: "submit", textContent: verb });
  const inputs = fields.map(([name, label, type, autocomplete]) =>
    element("label", {}, label, element("input", { name, type, autocomplete, required: true, minLength: autocomplete === "new-password" ? 8 : 1 })),
  );
  const form = element("form", {}, ...inputs, problem, button);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    problem.hidden = true;
    button.disabled = true;
    try {
      const said = Object.fromEntries(new FormData(form));
      showMe(await ask("POST", path, code ? { ...said, code } : said));
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    } finally {
      button.disabled = false;
    }
  });
  show(element("h2", { textContent: title }), element("p", { textContent: about, hidden: !about }), form);
}

function showMe(me) {
  const out = element("button", { type: "button", textContent: "Sign out" });
  out.addEventListener("click", async () => {
    await ask("DELETE", "/api/session");
    showForm("session");
  });
  show(element("h2", { textContent: `You are signed in as ${me.name}` }), element("p", { textContent: me.role ? `Role: ${me.role}` : "" }), out);
}

async function begin() {
  const [kind, code] = location.hash.slice(1).split("=");
  if (code && (kind === "claim" || kind === "invite")) {
    history.replaceState(null, "", location.pathname);
    showForm(kind, code);
    return;
  }
  try {
    showMe(await ask("GET", "/api/me"));
  } catch (error) {
    if (error.code === "setup_required") show(element("h2", { textContent: "Nobody owns this office yet" }), element("p", { textContent: error.message }));
    else if (error.code === "unauthenticated") showForm("session");
    else show(element("p", { className: "problem", role: "alert", textContent: error.message }));
  }
}

window.addEventListener("hashchange", begin);
begin();
