# ruff: noqa: E501  (a row is one line)
"""Wrong command lines of every command: one line, exit code 1 or 2, and nothing is changed.

`ERRORS` breaks a rule of a command (exit code 1), `USAGE` cannot be read at all (exit code 2). All
rows run in this process, in one folder with a server's database, a device's file and other files.
"""

from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.command import Here
from tests.device.fakes import MemoryTransport, join
from tests.protocol.files import STEPS, task_file
from tests.support.servers import create, make_task
from tests.wrong_inputs.expect_error import RAW

ERRORS = {
    "reproduce fig3 fig99": "fig99",
    "plan nope.toml --devices 10 --samples 10": "cannot read the task file nope.toml",
    "task list --database=": "the database must be a URL such as sqlite:///crowdml.db or",
    "task list --database nonsense": "the database must be a URL such as sqlite:///crowdml.db or",
    "task list --database mysql://a/b": "the database must be a URL such as sqlite:///crowdml.db or",
    "task list --database sqlite://": "the database must be a URL such as sqlite:///crowdml.db or",
    "task list --database sqlite:///": "the database must be a URL such as sqlite:///crowdml.db or",
    "task list --database sqlite:///nope.db": "there is no database nope.db. Name the right one with",
    "task list --database sqlite:///nope/nope.db": "cannot use the database sqlite:///nope/nope.db: there is no",
    "task list --database sqlite:///folder": "a database must be a file, found the folder folder. Name the",
    "task list --database sqlite:///rows.csv": "cannot use the database sqlite:///rows.csv: file is not a",
    "task list --database sqlite:///my.device": "my.device must be a server's database, found a device's file.",
    "task list --database sqlite:///empty": "the database empty has no tables yet. Name the right one with",
    "task list --database postgresql://127.0.0.1:1/x": "cannot use the database postgresql://127.0.0.1:1/x: connection",
    "task list --database postgresql://[": "cannot use the database postgresql://[: failed to resolve host",
    "task list --database postgresql://u:secret@127.0.0.1:1/x": "cannot use the database postgresql://u:***@127.0.0.1:1/x:",
    "task list --database postgresql:///x?foo=bar": "cannot use the database postgresql:///x?foo=bar: invalid",
    "task show nope": "there is no task 'nope'. `crowdml task list` shows them.",
    "task show ../x": "there is no task '../x'. `crowdml task list` shows them.",
    "task create nope.toml": "cannot read the task file nope.toml: No such file or directory.",
    "task create folder": "cannot read the task file folder: Is a directory.",
    "task create latin": "cannot read the task file latin: 'utf-8' codec can't decode",
    "task create empty": "stop.updates must say how many check-ins you expect, within a",
    "task create bad.toml": "the task file must be valid TOML: Invalid value (at end of",
    "task create rows.csv": "the task file must be valid TOML: Expected '=' after a key in a",
    "task create /dev/zero": "the task file /dev/zero must have at most 16,777,216 bytes,",
    "task create task.toml --database sqlite:///nope/nope.db": "cannot use the database sqlite:///nope/nope.db: there is no",
    "task new Bad_Name": "Bad_Name",
    "task new a --label y": "--label, --person, --csv, --devices, --samples and --json need",
    "task new a --json": "--label, --person, --csv, --devices, --samples and --json need",
    "task new a --pilot nope.csv --out a.toml": "cannot read the pilot nope.csv: No such file or directory.",
    "task new a --pilot folder --out a.toml": "cannot read the pilot folder: Is a directory.",
    "task new a --pilot latin --out a.toml": "latin",
    "task new a --pilot empty --out a.toml": "empty",
    "task new a --pilot data.csv": "--pilot needs a file to write, found none. Use --out a.toml.",
    "task new a --pilot data.csv --out a.toml": "a pilot must have two labels or more with at least 5 rows each",
    "task new a --pilot data.csv --out nope/a.toml": "a pilot must have two labels or more with at least 5 rows each",
    "task new a --pilot data.csv --out task.toml": "the file task.toml must be new, found an old one. Move it, or",
    "task new a --pilot data.csv --out a.toml --devices 5": "--devices and --samples must be given together, found only one",
    "task new a --pilot data.csv --out a.toml --leaving 0.5": "--leaving, --delay and --skew need --devices and --samples,",
    "task new a --pilot data.csv --out a.toml --label z": "the pilot has no column 'z'. Known are 'a', 'b', 'y'.",
    "task new a --pilot data.csv --out a.toml --person z": "the pilot has no column 'z'. Known are 'a', 'b', 'y'.",
    "task new a --pilot data.csv --out a.toml --csv nonsense": "--csv must be the sign between columns (, ; or tab), and then",
    "task new a --pilot m.npz --out a.toml": "m.npz",
    "task new a --pilot task.toml --out a.toml": "task.toml",
    "task new a --out task.toml": "the file task.toml must be new, found an old one. Move it, or",
    "task new a --out nope/a.toml": "cannot write nope/a.toml: No such file or directory.",
    "task pause nope": "there is no task 'nope'. `crowdml task list` shows them.",
    "task resume nope": "there is no task 'nope'. `crowdml task list` shows them.",
    "task stop nope --yes": "there is no task 'nope'. `crowdml task list` shows them.",
    "task stop activity": "the question must be answered on a terminal, found none. Use",
    "task reopen nope": "there is no task 'nope'. `crowdml task list` shows them.",
    "task reopen activity": "activity",
    "task delete nope": "there is no task 'nope'. `crowdml task list` shows them.",
    "task edit activity": "edit needs a change, found none. Use --title, --objective,",
    "task edit nope --title a": "there is no task 'nope'. `crowdml task list` shows them.",
    "task edit activity --title=": 'title must be a text of 1 to 200 characters, found "".',
    "task edit activity --objective=": 'objective must be a text of 1 to 2,000 characters, found "".',
    "task edit activity --updates 0": "--updates must lie in 1 … 1,000,000,000,000, found 0.",
    "task edit activity --error 2": "--error must lie in 0 … 1, found 2.0.",
    "task edit activity --error 0": "stop.error must be a number above 0 and below 1, found 0.0.",
    "task invite activity": 'an invite needs a task with enrolment.mode = "invite", found',
    "task invite nope": "there is no task 'nope'. `crowdml task list` shows them.",
    "task invite by-invite --uses 0": "--uses must lie in 1 … 1,000,000,000, found 0.",
    "task revoke nope": "there is no device 'nope'. `crowdml task show` lists them.",
    "task export nope --out m2.npz": "there is no task 'nope'. `crowdml task list` shows them.",
    "task export activity --out m2.txt": "--out must end in .npz, .json or .onnx, found 'm2.txt'.",
    "task export activity --out m2": "--out must end in .npz, .json or .onnx, found 'm2'.",
    "task export activity --out nope/m2.npz": "activity",
    "task export activity --out folder": "--out must end in .npz, .json or .onnx, found 'folder'.",
    "task card nope": "there is no task 'nope'. `crowdml task list` shows them.",
    "task card activity --out nope/card.md": "activity",
    "task card activity --out folder": "--out must end in .md, found 'folder'.",
    "owner add ann": "a password must be typed on a terminal, found none. Use",
    "owner add ann --password-file nope": "cannot read the password file nope: No such file or directory.",
    "owner add ann --password-file empty": "a password must have 10 to 1000 characters, found 0.",
    "owner add ann --password-file folder": "cannot read the password file folder: Is a directory.",
    "owner add ann --password-file latin": "cannot read the password file latin: 'utf-8' codec can't decode",
    "owner add ann --password-file -": "a password must have 10 to 1000 characters, found 0.",
    "owner remove nope": "there is no owner 'nope'. `crowdml owner list` shows them.",
    "device join nonsense": "nonsense",
    "device join https://": "https://",
    "device join http://example.org/join/a": "plain HTTP is for loopback only, found 'http://example.org'.",
    "device join https://127.0.0.1:1/join/activity": "cannot reach the server: Connection refused.",
    "device join https://127.0.0.1:1": "a link must name a task, https://HOST/join/TASK, found",
    "device join https://127.0.0.1:1/join/../x": "a task's name must be 1 to 63 lower-case letters, digits and",
    "device join ftp://a/join/b": "a server URL must be https://host:port, found 'ftp://a'.",
    "device join https://127.0.0.1:99999/join/a": "https://127.0.0.1:99999/join/a",
    "device join https://user:pw@127.0.0.1:1/join/a": "cannot reach the server: Connection refused.",
    "device join https://127.0.0.1:1/join/a --task b": "--task must be the link's task a, found 'b'. Leave it out.",
    "device join https://127.0.0.1:1/join/a --fingerprint zz": "zz",
    "device join https://127.0.0.1:1/join/a --fingerprint=": "a fingerprint must be 64 digits from 0 to f, found ''. Copy all",
    "device join https://127.0.0.1:1/tasks/a": "cannot reach the server: Connection refused.",
    "device join javascript:alert(1)": "javascript:alert(1)",
    "device run --source rows.csv": "/data/crowdml must have a device, found none. Join a task, or",
    "device run --source nope.csv --file my.device": "cannot read the source 'nope.csv': No such file or directory.",
    "device run --source folder --file my.device": "cannot read the source 'folder': Is a directory.",
    "device run --source latin --file my.device": "latin",
    "device run --source rows.csv --file rows.csv": "rows.csv",
    "device run --source rows.csv --file folder": "folder",
    "device run --source rows.csv --file my.device --csv nonsense": "--csv must be the sign between columns (, ; or tab), and then",
    "device run --source rows.csv --file my.device --csv ,,": "--csv must be the sign between columns (, ; or tab), and then",
    "device run --source rows.csv --file my.device --label y": "a column of the answer can be named where the task and the file",
    "device run --source rows.csv --file my.device --readings": "readings need a task with [features.sensor] that has readings,",
    "device run --source mqtt:// --file my.device": "mqtt://",
    "device run --source mqtt://127.0.0.1:99999/a --file my.device": "mqtt://127.0.0.1:99999/a",
    "device run --source mqtt://127.0.0.1:1/ --file my.device": "mqtt://127.0.0.1:1/",
    "device run --source ftp://a/b --file my.device": "a source must be a file or -, found 'ftp://a/b'.",
    "device run --source= --file my.device": "--source must be a file, - or an address, found ''.",
    "device label": "/data/crowdml must have a device, found none. Join a task, or",
    "device label nope --file my.device": "nope",
    "device leave --file rows.csv": "rows.csv",
    "device show --file rows.csv": "cannot use the device file rows.csv: file is not a database.",
    "device show --file folder": "cannot use the device file folder: unable to open database file.",
    "device move nonsense --file my.device --yes": "nonsense",
    "device move https://127.0.0.1:1/join/other --file my.device --yes": "the link must lead to the task activity, found",
    "device move http://example.org --file my.device --yes": "http://example.org",
    "device repin zz --file my.device --yes": "zz",
    "serve --database nonsense": "the database must be a URL such as sqlite:///crowdml.db or",
    "device show --file empty2": "empty2 has not joined a task. Join one first.",
    "device ledger --file empty2": "empty2 has not joined a task. Join one first.",
    "task card activity --out card.txt": "--out must end in .md, found 'card.txt'.",
    "task card activity --out crowdml.db": "--out must end in .md, found 'crowdml.db'.",
    "backup crowdml.db": "only a backup is replaced by a backup, found another file at",
    "task list --database sqlite:///task.toml": "cannot use the database sqlite:///task.toml: file is not a",
    "restore rows.csv --database sqlite:///my.device": "rows.csv",
    "simulate --dataset digits --trials 0": "--trials must lie in 1 … 1,000,000,000, found 0.",
    "bench portal --checkins 0": "--checkins must lie in 1 … 1,000,000,000, found 0.",
    "bench simulator --rounds 0": "--rounds must lie in 1 … 1,000,000, found 0.",
    "program --url https://[": "https://[",
    "serve --database sqlite:///nope/x.db": "cannot use the database sqlite:///nope/x.db: there is no folder",
    "serve --host 0.0.0.0": "plain HTTP is for loopback only, found host 0.0.0.0. Use --tls self-signed, or --tls CERT,KEY, or --insecure-http",
    "serve --port 99999": "--port must lie in 0 … 65,535, found 99999.",
    "serve --tls nonsense": "tls must be self-signed or CERT,KEY, found 'nonsense'.",
    "serve --tls a,b": "tls needs two readable files, found no file 'a'.",
    "serve --tls a,b,c": "tls needs two readable files, found no file 'a'.",
    "serve --tls rows.csv,rows.csv": "rows.csv must have a certificate in PEM, found none.",
    "serve --tls=": "tls must be self-signed or CERT,KEY, found ''.",
    "serve --public-url nonsense": "nonsense",
    "serve --public-url ftp://a": "ftp://a",
    "serve --public-url https://a/?q=1": "https://a/?q",
    "serve --trust-proxy nonsense": "nonsense",
    "serve --trust-proxy 10.0.0.0/99": "10.0.0.0/99",
    "serve --log-format xml": "log_format must be text or json, found 'xml'.",
    "serve --metrics-token=": "metrics_token must not be empty. Leave it out, or make one up.",
    "serve --workers 0": "--workers must lie in 1 … 64, found 0.",
    "serve --workers 65": "--workers must lie in 1 … 64, found 65.",
    "backup folder": "cannot write the backup folder: Is a directory.",
    "backup nope/b.bak": "cannot write the backup nope/b.bak: No such file or directory.",
    "backup rows.csv": "only a backup is replaced by a backup, found another file at",
    "restore nope.bak --database sqlite:///new.db": "cannot read the backup nope.bak: No such file or directory.",
    "restore rows.csv --database sqlite:///new.db": "rows.csv",
    "restore folder --database sqlite:///new.db": "cannot read the backup folder: Is a directory.",
    "restore empty --database sqlite:///new.db": "empty",
    "restore rows.csv": "rows.csv",
    "predict nope.npz --source rows.csv": "cannot read the model nope.npz: No such file or directory.",
    "predict m.npz --source rows.csv": "m.npz must be an .npz file of plain arrays, found one that is damaged",
    "predict m.json --source rows.csv": "m.json",
    "predict folder --source rows.csv": "cannot read the model folder: Is a directory.",
    "predict rows.csv --source rows.csv": "a model must be an .npz or .json file that crowdml has exported, and rows.csv is neither.",
    "predict https://127.0.0.1:1/tasks/a --source rows.csv": "cannot reach the server: Connection refused.",
    "predict https://127.0.0.1:1 --source rows.csv": "https://127.0.0.1:1",
    "predict http://example.org/tasks/a --source rows.csv": "plain HTTP is for loopback only, found 'http://example.org'.",
    "program --url nonsense": "--url must begin with https:// or http://, found 'nonsense'.",
    "program --url ftp://a": "--url must begin with https:// or http://, found 'ftp://a'.",
    "program --url https://127.0.0.1:1 --fingerprint zz": "zz",
    "plan bad.toml --devices 10 --samples 10": "the task file must be valid TOML: Invalid value (at end of",
    "plan steps.toml --devices 0 --samples 10": "--devices must lie in 1 … 100,000,000, found 0.",
    "plan steps.toml --devices 10 --samples 10 --difficulty nonsense": "--difficulty must be easy, medium or hard, found 'nonsense'.",
    "plan steps.toml --devices 10 --samples 10 --label y": "--label, --person and --csv need --data FILE.",
    "plan steps.toml --devices 10 --samples 10 --data nope.csv": "nope.csv cannot be read as a .csv file: No such file or directory.",
    "plan steps.toml --devices 10 --samples 10 --data nonsense": "nonsense",
    "plan steps.toml --devices 10 --samples 10 --data data.csv": "a data set must have at least two samples, found 1.",
    "plan steps.toml --devices 10 --samples 10 --plot a.txt": "the name of a figure must end in .pdf, .png, .svg, found 'a.txt'.",
    "plan - --devices 10 --samples 10 --write": "--write needs a task file to write to, found standard input.",
    "simulate nope.toml": "cannot read the plan file nope.toml: No such file or directory.",
    "simulate bad.toml": "the plan file must be valid TOML: Invalid value (at end of",
    "simulate steps.toml": "model must be softmax, hinge, ridge or huber, found a table.",
    "simulate --dataset nonsense": "the data set must be activity, air, cifar10, digits, extrasensory, mnist or a",
    "simulate --dataset nope.csv": "nope.csv",
    "simulate --dataset rows.csv": "a data set must have at least two samples, found 1.",
    "simulate --dataset digits --approach nonsense": 'approach must be crowd, central-batch, central-sgd or decentral, found "nonsense".',
    "simulate --dataset digits --mechanism nonsense": 'mechanism must be direction, gaussian or laplace, found "nonsense".',
    "simulate --dataset digits --devices 0": "devices must be a whole number from 1 to 1,000,000,000, found 0.",
    "simulate --dataset digits --devices many": "many",
    "simulate --dataset digits --batch 0": "batch must be a whole number from 1 to 1,000,000,000, found 0.",
    "simulate --dataset digits --batch=": 'batch must be a whole number from 1 to 1,000,000,000, found "".',
    "simulate --dataset digits --batch 1,,2": 'batch must be a whole number from 1 to 1,000,000,000, found "".',
    "simulate --dataset digits --batch 1.5": "1.5",
    "simulate --dataset digits --epsilon -1": "-1",
    "simulate --dataset digits --epsilon nan": "nan",
    "simulate --dataset digits --epsilon little": 'epsilon must be a number above 0, found "little".',
    "simulate --dataset digits --checkins 0": "checkins must be a whole number from 1 to 1,000,000,000, found",
    "simulate --dataset digits --delay -1": "-1",
    "simulate --dataset digits --passes 0": "passes must be a whole number from 1 to 1,000,000,000, found 0.",
    "simulate --dataset digits --rate fast": 'rate must be a number above 0 or planned, auto or paper, found "fast".',
    "simulate --dataset digits --rate -1": "-1",
    "simulate --dataset digits --reg -1": "-1",
    "simulate --dataset digits --optimizer adam": 'optimizer must be sgd, adagrad, dual-averaging or average-gradient, found "adam".',
    "simulate --dataset digits --clip 0": "clip must be a number above 0, found 0.",
    "simulate --dataset digits --skew 0": "skew must be a number above 0, found 0.",
    "simulate --dataset digits --pilot 0": "pilot must be a whole number from 1 to 1,000,000,000, found 0.",
    "simulate --dataset digits --pilot-people 0": "pilot_people must be a whole number from 1 to 1,000,000,000,",
    "simulate --dataset digits --plot a.txt": "the name of a figure must end in .pdf, .png, .svg, found 'a.txt'.",
    "reproduce fig99": "fig99",
    "reproduce fig3 --trials 0": "--trials must lie in 1 … 1,000,000,000, found 0.",
    "audit --mechanism nonsense": "nonsense",
    "audit --epsilon 0": "--epsilon must be above 0, found 0.",
    "audit --trials 5": "--trials must be at least 100, found 5.",
    "audit --plot a.txt": "a.txt",
    "demo --task nonsense": "task must be activity or digits, found 'nonsense'.",
    "demo --mechanism nonsense": "mechanism must be direction, gaussian or laplace, found 'nonsense'.",
    "demo --devices 0": "--devices must lie in 1 … 100,000,000, found 0.",
    "demo --pilot 0": "--pilot must lie in 1 … 100,000,000, found 0.",
    "demo --folder rows.csv": "rows.csv",
    "demo --pilot 500": "500",
    "bench server --seconds 0": "--seconds must be above 0, --checkouts below 1 and --generators",
    "bench server --checkouts 1": "--seconds must be above 0, --checkouts below 1 and --generators",
    "bench server --workers 1,x": "--workers must be numbers in 1 … 64, such as 1,2,4, found '1,x'.",
    "bench server --workers 0": "--workers must be numbers in 1 … 64, such as 1,2,4, found '0'.",
    "bench server --generators 65": "--generators must lie in 1 … 64, found 65.",
    "bench portal --tasks 0": "--tasks must lie in 1 … 10,000,000, found 0.",
    "bench simulator --samples 0": "--samples must lie in 1 … 1,000,000,000, found 0.",
    "serve --tls rows.csv,nope.pem": "tls needs two readable files, found no file 'nope.pem'.",
    "serve --tls empty,empty": "empty must have a certificate in PEM, found none.",
    "serve --database sqlite:///rows.csv": "cannot use the database sqlite:///rows.csv: file is not a",
    "task list --database crowdml.db": "the database must be a URL such as sqlite:///crowdml.db or",
    "simulate --dataset digits --devices 50 --rate inf": "the rate must be positive and finite, found inf.",
    "simulate --dataset digits --clip 1": "direction needs no clip, found 1. Leave it out.",
    "simulate --dataset digits --devices 1437 --rate 1 --epsilon 60": "epsilon of a check-in must lie in 1e-13 … 40 for this mechanism, found 60.",
    "simulate --dataset digits --devices 50 --delay 1e18": "a delay must lie in 0 … 1e+09, found 1e+18.",
    "simulate --dataset digits --devices 5000": "digits can be dealt to 1 … 1437 devices, found 5000.",
    "simulate --dataset digits --plot nope/a.png": "the figure's folder must exist, found nope. Make it first.",
    "simulate --dataset digits --engine spark": "engine must be ray or dask, perhaps with =ADDRESS, found 'spark'.",
    "predict http://[ --source rows.csv": "a link must be https://HOST:PORT/join/TASK, found 'http://['",
    "demo --epsilon 0": "epsilon must be positive, found 0.0.",
    "demo --epsilon nan": "--epsilon must lie in 0 … inf, found nan.",
    "demo --devices 5": "activity can be dealt to 18 … 6474 devices, found 5.",
    "demo --port 70000": "--port must lie in 0 … 65,535, found 70000.",
    "demo --seconds 0": "seconds must lie in 0 … 3600, found 0.0.",
    "plan steps.toml --devices 10 --samples 10 --data nope.npz": "cannot read nope.npz: No such file or directory.",
    "owner add ann --password-file bad.toml": "a password must have 10 to 1000 characters, found 6.",
    "program --url http://127.0.0.1:1": "cannot ask http://127.0.0.1:1 for /web/device/agreement.js: Connection refused.",
    "device join https://127.0.0.1:1/join/": "a link must name a task, https://HOST/join/TASK, found",
    "device join 127.0.0.1/join/activity": "a server URL must be https://host:port, found '://127.0.0.1'.",
    "device join http://127.0.0.1:door/join/activity": "a link must be https://HOST:PORT/join/TASK, found 'http://127.0.0.1:door",
    "device join http://[::1/join/activity": "a link must be https://HOST:PORT/join/TASK, found 'http://[::1/join",
}

USAGE = {
    "nonsense": "No such command 'nonsense'.",
    "--nonsense": "No such option: --nonsense",
    "task nonsense": "No such command 'nonsense'.",
    "task list extra": "Got unexpected extra argument(s) (extra)",
    "task list --nonsense": "No such option: --nonsense",
    "task list --database": "Option '--database' requires an argument.",
    "task list --json=1": "Option '--json' does not take a value.",
    "task show": "Missing argument 'name'.",
    "task show activity extra": "Got unexpected extra argument(s) (extra)",
    "task create": "Missing argument 'file'.",
    "task pause": "Missing argument 'name'.",
    "task delete": "Missing argument 'name'.",
    "task edit activity --updates many": "Invalid value for '--updates'",
    "task invite by-invite --uses 1e9": "Invalid value for '--uses'",
    "task revoke": "Missing argument 'device'.",
    "task export activity": "Missing option '--out'.",
    "owner add": "Missing argument 'name'.",
    "owner remove": "Missing argument 'name'.",
    "device join": "Missing argument 'url'.",
    "device run --source rows.csv --file my.device --every 5": "--every does not fit this kind of source. Leave it",
    "device run --source rows.csv --file my.device --discovery": "--discovery does not fit this kind of source. Leave it",
    "device run --source rows.csv --file my.device --ca rows.csv": "--ca does not fit this kind of source. Leave it",
    "device run --source rows.csv --file my.device --format nonsense": "--format must be one of owntracks, phyphox, sensor-logger,",
    "device run --source rows.csv --file my.device --format phyphox": "--format phyphox needs --source",
    "device run --source http://127.0.0.1:0 --file my.device": "http:// needs --format, such as",
    "device run --source phyphox://127.0.0.1 --file my.device": "phyphox:// needs --format, such as",
    "device run --source mqtt://127.0.0.1:1/a --file my.device --again": "--again does not fit this kind of source. Leave it",
    "device run --source mqtt://127.0.0.1:1/a --file my.device --readings": "--readings does not fit this kind of source. Leave it",
    "device label walk --none --file my.device": "give a label or --none, not both.",
    "device limits --file my.device --per-sample little": "Invalid value for '--per-sample'",
    "device repin --file my.device": "Missing argument 'fingerprint'.",
    "device run --source rows.csv --file my.device --strict extra": "Got unexpected extra argument(s) (extra)",
    "device run --file my.device": "Missing option '--source' (env var: 'CROWDML_SOURCE').",
    "predict m.npz": "Missing option '--source'.",
    "predict m.npz --source": "Option '--source' requires an argument.",
    "plan steps.toml --devices ten --samples 10": "Invalid value for '--devices'",
    "audit --epsilon": "Option '--epsilon' requires an argument.",
    "audit --trials 1.5": "Invalid value for '--trials'",
    "device ledger --json=yes --file my.device": "Option '--json' does not take a value.",
    "reproduce all --seed nan": "Invalid value for '--seed'",
    "bench device extra": "Got unexpected extra argument(s) (extra)",
    "program extra": "Got unexpected extra argument(s) (extra)",
    "serve --port many": "Invalid value for '--port'",
    "backup": "Missing argument 'file'.",
    "predict": "Missing argument 'model'.",
    "plan": "Missing argument 'file'.",
    "plan steps.toml": "Missing option '--devices'.",
    "plan steps.toml --devices 10": "Missing option '--samples'.",
    "simulate": "a plan file or --dataset must be given, found",
    "reproduce": "Missing argument 'figures'.",
    "audit --language perl": "Invalid value for '--language'",
    "bench nonsense": "No such command 'nonsense'.",
    "demo --epsilon little": "Invalid value for '--epsilon'",
    "bench server --clients few": "Invalid value for '--clients'",
    "device run --source mqtt://127.0.0.1:1/a --file my.device --strict": "--strict does not fit this kind of source. Leave it",
    "device run --source rows.csv --file my.device --format termux": "--format termux needs --source -.",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with the files that the rows name."""
    folder = tmp_path_factory.mktemp("commands")
    tasks = make_task(), make_task("by-invite", enrolment__mode="invite")
    create(f"sqlite:///{folder / 'crowdml.db'}", *tasks)
    with closing(join(folder / "my.device", MemoryTransport(make_task()))):
        pass
    texts = {
        "bad.toml": "name =", "data.csv": "a,b,y\n1,2,x\n", "empty": "", "empty2": "",
        "m.json": "{}", "m.npz": "PK nonsense", "rows.csv": "0.1,0.2,0.3,0.4,walk\n",
        "steps.toml": STEPS, "task.toml": task_file({"name": '"new"'}),
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "latin").write_bytes(b"\xff\xfe\xe9")
    (folder / "folder").mkdir()
    return folder


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(folder, capsys=capsys)


def files(folder: Path) -> dict[str, bytes]:
    """Return the files that a rejected command must not change."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
        and not path.name.endswith(("-wal", "-shm"))
        and path.name not in ("empty2", "participant.account")
    }


@pytest.mark.parametrize(("command", "said"), ERRORS.items(), ids=ERRORS)
def test_errors(run: Here, command: str, said: str) -> None:
    before = files(run.folder)
    ran = run(*command.split(" "))
    assert ran.code == 1, ran
    *_, line = ran.err.strip().splitlines()
    assert line.startswith("crowdml: "), ran
    assert said in line, ran
    assert not RAW.search(line), line
    assert line[-1] in ".?", line
    assert len(line) < 1000, line
    assert files(run.folder) == before


@pytest.mark.parametrize(("command", "said"), USAGE.items(), ids=USAGE)
def test_usage(run: Here, command: str, said: str) -> None:
    before = files(run.folder)
    ran = run(*command.split(" "))
    assert ran.code == 2, ran
    assert ran.out == ""
    assert "Error" in ran.err
    assert said in " ".join(ran.err.replace("│", " ").split()), ran.err
    assert not RAW.search(ran.err), ran.err
    assert files(run.folder) == before
