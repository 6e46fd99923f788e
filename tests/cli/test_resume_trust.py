"""``mutiny resume`` of files from others: nothing in them is run, written or connected to without the user's word."""

import re
import shlex
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mutiny.campaigns.jobs import Job, JobResult
from mutiny.campaigns.ownership import PENDING, announce, is_own
from mutiny.campaigns.stores import schema
from mutiny.campaigns.stores.base import Campaign
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.cli.command import COMMANDS
from mutiny.cli.options import WRITE
from mutiny.cli.stored_command import OUTPUTS, from_stored, resume_line
from mutiny.reports.page.method import assess_command

SUBJECT = """
subject = mutiny.Subject([classifier(seed) for seed in range(3)], task=mutiny.Classification(3), train=blobs(),
                         test=blobs(120, seed=1), name="blobs")
"""
QUICK = ("--method", "muff", "--operators", "WI", "--precision", "0.05", "--k-max", "2")


@pytest.fixture(autouse=True)
def key(monkeypatch, tmp_path_factory):
    path = tmp_path_factory.mktemp("user") / "own" / "key"
    monkeypatch.setenv("MUTINY_KEY", str(path))
    return path


@pytest.fixture
def folder(tmp_path):
    """A folder with a file of code that leaves a trace."""
    (tmp_path / "payload.py").write_text("open('ran', 'w').close()\nraise SystemExit('payload')\n")
    return tmp_path


def forged(folder, arguments=None, verb="assess", proof="", **command):
    """A file as anybody can make it, with an unfinished campaign."""
    given = {"subject": f"{folder}/payload.py:x", "seed": 0} if arguments is None else arguments
    said = {"verb": verb, "arguments": given, "folder": str(folder), **command}
    with SqliteStore(folder / "x.mutiny") as store:
        store.open(Campaign("c1", "assess", "blobs", {"seed": 0}, command=said, proof=proof))
        store.want("c1", [Job("probe", (1,))])
    return folder / "x.mutiny"


def everything(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def unfinished(file):
    """As if the campaign had been killed before its result was stored."""
    with SqliteStore(file) as store:
        store._connection.execute("DELETE FROM outcomes")


@pytest.mark.parametrize("subject", ["payload.py:x", "os:getpid"])
def test_a_file_of_another_is_described_and_nothing_else_happens(run, folder, key, subject):
    where = f"{folder}/" if "payload" in subject else ""
    file = forged(folder, {"subject": where + subject, "seed": 0, "json": {"path": str(folder / "precious")}})
    (folder / "precious").write_text("precious")
    before = everything(folder)
    told = run("resume", file)
    assert told.code == 2
    assert everything(folder) == before
    assert not key.parent.exists()
    shown, sentence = told.err.rstrip("\n").rsplit("\n", 1)
    assert shown.startswith(f"mutiny: {file} would run:\n  command  mutiny assess {where}{subject} --seed 0\n")
    assert re.search(rf"^  imports  {re.escape((where + subject).rpartition(':')[0])}$", shown, re.M)
    assert re.search(rf"^  folder   {re.escape(str(folder))}$", shown, re.M)
    assert re.search(r"^  jobs run in this process$", shown, re.M)
    assert re.search(rf"^  writes   {re.escape(str(file))}$", shown, re.M)
    assert re.search(r"^  but not  --json: files to write are only taken from the command line$", shown, re.M)
    assert sentence.startswith(f"mutiny: FILE={file}: expected a campaign that you started. It has no proof")
    assert "--trust" in sentence
    assert run("resume", file, "-q").err == told.err


def test_trust_runs_what_the_file_says(run, folder):
    file = forged(folder)
    assert run("resume", file, "--trust").code == 2  # the payload ends with an error
    assert (folder / "ran").exists()


def test_files_to_write_are_never_taken_from_a_file(run, write, folder):
    assert run("assess", write(SUBJECT), *QUICK, "--store", "own.mutiny").code == 0
    with SqliteStore("own.mutiny", write=False) as store:
        arguments = store.campaigns()[0].command["arguments"]
    outputs = {name: {"path": str(folder / name)} for name in OUTPUTS}
    file = forged(folder, {**arguments, **outputs}, given=["json"])
    told = run("resume", file, "--trust", "-q")
    assert told.code == 0
    assert told.err.startswith("mutiny: not written, unless given again: --json, --kills, --junit, --summary\n")
    assert not [name for name in OUTPUTS if (folder / name).exists()]
    again = forged(folder, {**arguments, **outputs})
    unfinished(again)
    told = run("resume", again, "--trust", "--json", folder / "json", "--summary", folder / "summary")
    assert told.code == 0
    assert [name for name in OUTPUTS if (folder / name).exists()] == ["json", "summary"]


def test_addresses_are_never_taken_from_a_file(run, folder):
    arguments = {"subject": f"{folder}/payload.py:x", "seed": 0, "engine": "ray", "address": "10.0.0.7:6379"}
    file = forged(folder, arguments)
    told = run("resume", file)
    assert "jobs run on Ray, at the --address that you give" in told.err
    assert "10.0.0.7" not in told.err
    told = run("resume", file, "--trust")
    assert told.code == 2
    assert "mutiny: --address=None: expected the Ray cluster on which the campaign was started" in told.err
    assert not (folder / "ran").exists()
    assert run("resume", file, "--trust", "--engine", "serial").code == 2
    assert (folder / "ran").exists()


def test_a_module_is_not_imported_from_the_current_folder_because_the_folder_of_the_command_is_gone(
    run, write, tmp_path, monkeypatch
):
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)
    write(SUBJECT, "home/my_subject.py")
    file = tmp_path / "own.mutiny"
    assert run("assess", "my_subject:subject", *QUICK, "--store", file).code == 0
    unfinished(file)
    monkeypatch.chdir(tmp_path)
    shutil.rmtree(home)
    sys.modules.pop("my_subject", None)
    (tmp_path / "my_subject.py").write_text("open('ran', 'w').close()\nraise SystemExit('payload')\n")
    told = run("resume", file)
    assert told.code == 2
    assert not (tmp_path / "ran").exists()
    assert f"\n  folder   {tmp_path}\n" in told.err  # where it would run, not where it was started
    assert f"expected a campaign whose folder exists; {home} does not." in told.err
    assert "--trust" in told.err
    assert run("resume", file, "--trust").code == 2  # the payload ends with an error
    assert (tmp_path / "ran").exists()


def test_ones_own_campaign_goes_on_without_a_question(run, write):
    assert run("assess", write(SUBJECT), *QUICK, "--store", "x.mutiny", "--json", "a.json", "-q").code == 0
    unfinished("x.mutiny")
    with SqliteStore("x.mutiny", write=False) as store:
        (campaign,) = store.campaigns()
    assert is_own(campaign)
    assert not set(campaign.command["arguments"]) & {*OUTPUTS, "address", "store"}
    assert campaign.command["given"] == ["json"]
    told = run("resume", "x.mutiny", "-q")
    assert (told.code, told.err) == (0, "mutiny: not written, unless given again: --json\n")
    unfinished("x.mutiny")
    told = run("resume", "x.mutiny")
    assert told.code == 0
    assert "mutiny: x.mutiny runs:\n" in told.err


def test_a_file_from_another_machine_is_trusted_once(run, write, key):
    assert run("assess", write(SUBJECT), *QUICK, "--store", "x.mutiny", "-q").code == 0
    unfinished("x.mutiny")
    key.unlink()
    told = run("resume", "x.mutiny")
    assert told.code == 2
    assert "Its proof was made with another key" in told.err
    assert run("resume", "x.mutiny", "--trust").code == 0
    unfinished("x.mutiny")
    assert run("resume", "x.mutiny").code == 0


@pytest.mark.parametrize("change", ["command", "campaign"])
def test_a_proof_is_of_one_command_of_one_campaign(run, write, folder, change):
    assert run("assess", write(SUBJECT), *QUICK, "--store", "own.mutiny", "-q").code == 0
    with SqliteStore("own.mutiny", write=False) as store:
        (own,) = store.campaigns()
    command = dict(own.command)
    if change == "command":
        command["arguments"] = {**command["arguments"], "subject": f"{folder}/payload.py:x"}
    with SqliteStore(folder / "x.mutiny") as store:
        store.open(Campaign(own.id if change == "command" else "c2", "assess", "x", command=command, proof=own.proof))
    told = run("resume", folder / "x.mutiny")
    assert told.code == 2
    assert "or it was changed since" in told.err
    assert not (folder / "ran").exists()


def test_a_call_from_python_does_not_vouch_for_the_command_in_a_file(run, write, folder, monkeypatch):
    """The same call continues a stranger's campaign, whose command stays the stranger's."""
    import mutiny

    subject = mutiny.load_subject(write(SUBJECT))
    settings = {"method": "muff", "store": folder / "x.mutiny"}
    mutiny.assess(subject, "WI", **settings)
    with SqliteStore(folder / "x.mutiny") as store:
        (campaign,) = store.campaigns()
        forged_command = {"verb": "assess", "arguments": {"subject": "os:abort"}, "folder": None}
        store.open(Campaign(campaign.id, "assess", "blobs", campaign.settings, command=forged_command))
    for finished in (True, False):
        if not finished:
            unfinished(folder / "x.mutiny")
        mutiny.assess(subject, "WI", **settings)
        with SqliteStore(folder / "x.mutiny", write=False) as store:
            (campaign,) = store.campaigns()
        assert campaign.command == forged_command
        assert not is_own(campaign)


WRONG = {
    "no verb": {"arguments": {}},
    "a verb that is a list": {"verb": []},
    "an unknown verb": {"verb": "nosuch"},
    "no arguments": {"verb": "assess"},
    "no subject": {"verb": "assess", "arguments": {}},
    "a subject that is a number": {"verb": "assess", "arguments": {"subject": 5}},
    "a folder that is a number": {"verb": "assess", "arguments": {"subject": "digits"}, "folder": 5},
    "a seed that is text": {"verb": "assess", "arguments": {"subject": "digits", "seed": "0; rm -rf ~"}},
    "a seed that is a flag": {"verb": "assess", "arguments": {"subject": "digits", "seed": True}},
    "a seed that is a path": {"verb": "assess", "arguments": {"subject": "digits", "seed": {"path": "0"}}},
    "a flag that is text": {"verb": "assess", "arguments": {"subject": "digits", "exact": "yes"}},
    "a path that is a number": {"verb": "assess", "arguments": {"subject": "digits", "data": {"path": 5}}},
    "a path in bytes": {"verb": "assess", "arguments": {"subject": "digits", "data": b"x"}},
}


@pytest.mark.parametrize("command", WRONG.values(), ids=WRONG)
def test_a_command_of_another_form_is_refused_in_a_sentence(run, folder, command):
    with SqliteStore(folder / "x.mutiny") as store:
        store.open(Campaign("c1", "assess", "digits", command=command))
    for more in ((), ("--trust",)):
        told = run("resume", folder / "x.mutiny", *more)
        assert told.code == 2
        assert told.err.count("\n") == 1
        assert "expected a campaign whose command this version knows" in told.err


@pytest.mark.parametrize("more", [(), ("--trust",)])
def test_a_command_that_is_a_number_is_refused_in_a_sentence(run, folder, more):
    with SqliteStore(folder / "x.mutiny") as store:
        store.open(Campaign("c1", "assess", "digits", command=5))
    told = run("resume", folder / "x.mutiny", *more)
    assert (told.code, told.err.count("\n")) == (2, 1)
    assert "command has another type" in told.err


@pytest.mark.parametrize("more", [(), ("--trust",)])
@pytest.mark.parametrize("place", ["a" * 300, "a" * 5000, "a\0b", "\ud800"], ids=ascii)
def test_a_folder_that_cannot_be_is_a_sentence(run, folder, place, more):
    with SqliteStore(folder / "x.mutiny") as store:
        command = {"verb": "assess", "arguments": {"subject": "nosuch", "seed": 0}, "folder": place}
        store.open(Campaign("c1", "assess", "x", command=command))
    told = run("resume", folder / "x.mutiny", *more)
    assert told.code == 2
    assert "Traceback" not in told.err
    assert "expected" in told.err


def test_text_from_a_file_cannot_drive_the_terminal(run, folder):
    file = forged(folder, {"subject": "\x1b[2J\u202eevil.py:x", "seed": 0, "operators": "WI\r\n  imports  nothing"})
    told = run("resume", file)
    assert told.code == 2
    assert not re.search(r"[\x1b\r\u202e]", told.err)
    assert re.findall(r"^  imports  (.*)$", told.err, re.M) == [r"$'\x1b[2J\xe2\x80\xaeevil.py'"]


def test_an_older_file_is_not_upgraded_before_it_is_trusted(run, folder, monkeypatch):
    file = forged(folder)
    monkeypatch.setattr(schema, "STEPS", [*schema.STEPS, schema.statements("\nCREATE TABLE notes (text)\n")])
    before = everything(folder)
    told = run("resume", file)
    assert told.code == 2
    assert "would run" in told.err
    assert everything(folder) == before
    assert run("status", file).code == 0
    assert everything(folder) == before


def test_a_file_in_use_is_refused_before_anything_is_loaded(run, folder):
    file = forged(folder)
    with SqliteStore(file):
        told = run("resume", file, "--trust")
    assert told.code == 2
    assert "expected a file that no other process writes" in told.err
    assert not (folder / "ran").exists()


def test_options_of_other_commands_are_refused(run, folder):
    told = run("resume", forged(folder), "--trust", "--grid", "a.png")
    assert told.code == 2
    assert "The campaign is one of `mutiny assess`, which has no such option." in told.err
    assert not (folder / "ran").exists()


def test_resume_has_an_option_for_every_file_that_a_command_writes(run):
    options = [option for verb in COMMANDS.values() for option in verb.parameters.values()]
    written = {each.name for each in options if each.annotation.__origin__ == Path | None}
    assert written - {"data", "store", "against"} == set(OUTPUTS)
    helped = run("resume", "--help").out
    assert all(f"--{name} " in helped for name in OUTPUTS)
    assert WRITE in helped


def test_without_a_key_campaigns_work_and_resume_says_why_it_asks(run, write, monkeypatch):
    monkeypatch.setenv("MUTINY_KEY", "relative")
    told = run("assess", write(SUBJECT), *QUICK, "--store", "x.mutiny")
    assert told.code == 0
    assert "mutiny: MUTINY_KEY=relative: expected an absolute path. Until then, `mutiny resume` asks for" in told.err
    unfinished("x.mutiny")
    told = run("resume", "x.mutiny")
    assert told.code == 2
    assert "MUTINY_KEY=relative: expected an absolute path." in told.err
    assert run("resume", "x.mutiny", "--trust").code == 0


def stopped_before_planning(write, file):
    """A store as it is when the command is killed while it finds out which campaign it is."""
    arguments = {"subject": write(SUBJECT), "seed": 0, "method": "muff", "operators": "WI", "k_max": 2}
    with SqliteStore(file) as store:
        announce(
            store, {"verb": "assess", "arguments": arguments, "folder": str(Path.cwd()), "given": []}, "2026-01-01"
        )


def test_a_campaign_that_was_killed_before_planning_is_resumed(run, write, tmp_path):
    file = tmp_path / "x.mutiny"
    stopped_before_planning(write, file)
    status = run("status", file)
    assert status.code == 0
    assert "It ended before any job was planned." in status.out
    assert f"Continuewith:mutinyresume{file}" in "".join(status.out.split())  # whatever is wrapped
    told = run("resume", file)
    assert told.code == 0
    assert "the subject has changed" not in told.err
    with SqliteStore(file, write=False) as store:
        assert [(each.id == PENDING, store.tally(each.id).finished) for each in store.campaigns()] == [(False, True)]


def test_another_command_takes_the_place_of_one_that_was_killed(tmp_path):
    with SqliteStore(tmp_path / "x.mutiny") as store:
        for verb in ("assess", "select"):
            announce(store, {"verb": verb, "arguments": {"subject": "digits"}, "folder": None}, "2026-01-01")
        assert [(each.id, each.verb) for each in store.campaigns()] == [(PENDING, "select")]


def test_a_command_that_is_refused_before_planning_leaves_nothing(run, write, tmp_path):
    file = tmp_path / "x.mutiny"
    refused = run("assess", write(SUBJECT), "--device", "cuda:77", *QUICK, "--store", file)
    assert refused.code == 2
    assert not file.exists()
    with SqliteStore(file) as store:
        store.open(Campaign("c1", "select", "digits"))
        store.finish("c1", None)
    assert run("assess", write(SUBJECT), "--device", "cuda:77", *QUICK, "--store", file).code == 2
    with SqliteStore(file, write=False) as store:
        assert [each.id for each in store.campaigns()] == ["c1"]


def test_a_store_that_was_killed_before_its_first_campaign(run, tmp_path):
    file = tmp_path / "x.mutiny"
    SqliteStore(file).close()
    assert "no campaign yet. Give the command that made it again" in " ".join(run("status", file).out.split())
    told = run("resume", file)
    assert told.code == 2
    assert "expected an unfinished campaign. Give the command that made it again" in told.err


def test_an_interrupt_before_planning_can_be_resumed(run, write, tmp_path, monkeypatch):
    stopping = SUBJECT.replace("test=", "forward=forward, test=") + "\n"
    stopping = (
        "import os\n\ndef forward(model, x):\n    if os.environ['STOP'] == 'yes':\n        raise KeyboardInterrupt\n"
        "    return model(x)\n" + stopping
    )
    subject, file = write(stopping), tmp_path / "x.mutiny"
    monkeypatch.setenv("STOP", "yes")
    told = run("assess", subject, *QUICK, "--store", file)
    assert told.code == 3
    monkeypatch.setenv("STOP", "no")
    line = re.search(r"Resume with: mutiny (.*)", told.err)[1]
    assert run(*shlex.split(line)).code == 0


EVIL = "0; rm -rf ~"


@pytest.fixture
def odd_store(run, write):
    """Writes a store with a finished assessment, whose command and seed are changed."""

    def make(command, **settings):
        assert run("assess", write(SUBJECT.replace("train=", "validation=")), "--operators", "WI", "-q").code == 0
        with SqliteStore("mine-subject.mutiny") as store:
            (campaign,) = store.campaigns()
            result = store.outcome(campaign.id)
            object.__setattr__(result, "settings", {**result.settings, **settings})
            store.open(Campaign(campaign.id, "assess", "x", campaign.settings, command=command))
            store.finish(campaign.id, result)
        return result

    return make


def test_a_printed_command_quotes_what_the_file_says(run, odd_store):
    """Nothing in a subject's name, a seed or an operator ends the word that it is in."""
    arguments = {"subject": f"a.py:x{EVIL}", "seed": 0, "operators": "WI$(id)"}
    result = odd_store({"verb": "assess", "arguments": arguments, "folder": None})
    printed = [assess_command(replace(result, settings={**result.settings, "seed": EVIL}), "digits")]
    for options in ((), ("-o", "page.html")):
        told = run("report", "mine-subject.mutiny", *options)
        assert told.code == 0
        said = told.out if not options else Path("page.html").read_text()
        printed += re.findall(r"mutiny (?:assess|select|strengthen|locate|repair) .*", said)
    assert len(printed) > 2
    for line in printed:
        words = shlex.split(re.sub(r"<[^>]*>", "", line).replace("&#39;", "'").replace("&#x27;", "'").rstrip(" \\"))
        assert not {"rm", ";", "~", "$(id)"} & set(words), line


@pytest.mark.parametrize("place", ["the command", "the result"])
def test_a_seed_that_is_text_is_refused(run, odd_store, place):
    arguments = {"subject": "digits", "seed": EVIL if place == "the command" else 0}
    settings = {"seed": EVIL} if place == "the result" else {}
    odd_store({"verb": "assess", "arguments": arguments, "folder": None}, **settings)
    for options in ((), ("-o", "page.html")):
        told = run("report", "mine-subject.mutiny", *options)
        assert (told.code, told.out, told.err.count("\n")) == (2, "", 1)
        assert "seed" in told.err


def test_a_limit_is_given_again_and_never_taken_from_a_file():
    assert resume_line(Path("a.mutiny"), {"limit": "2GB", "json": None}) == "mutiny resume a.mutiny --limit 2GB"
    stored = {"verb": "assess", "arguments": {"subject": "digits", "limit": "1TB"}, "folder": None}
    assert from_stored(stored) == {"subject": "digits"}


def test_a_file_is_found_from_another_folder_than_that_of_the_campaign(run, write, tmp_path, monkeypatch):
    assert run("assess", write(SUBJECT), *QUICK, "--store", "x.mutiny", "-q").code == 0
    unfinished("x.mutiny")
    (tmp_path / "elsewhere").mkdir()
    Path("x.mutiny").rename(tmp_path / "elsewhere" / "x.mutiny")
    before = Path.cwd()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert run("resume", "x.mutiny", "-q").code == 0
    assert not (before / "x.mutiny").exists()
    with SqliteStore("x.mutiny", write=False) as store:
        assert all(store.tally(each.id).finished for each in store.campaigns())


def test_a_subject_is_no_option(run):
    from mutiny.cli.stored_command import subject_typed

    assert subject_typed({"arguments": {"subject": "--json=/etc/x"}}) == "./--json=/etc/x"


def test_results_of_a_campaign_of_another_are_shown(run, folder):
    """Looking at a file needs no trust."""
    file = forged(folder)
    with SqliteStore(file) as store:
        store.save("c1", JobResult(Job("probe", (1,)), 1))
    assert "assess blobs" in run("status", file).out
    assert not (folder / "ran").exists()
