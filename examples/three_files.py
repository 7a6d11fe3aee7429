"""
Three CSV files of the same patients: which subtype, which labels are wrong, and what is left to measure?
=========================================================================================================

An analyst has labels in one file, gene expression in a second, and what the clinic wrote down in a third: with text,
dates, and cells that say "not recorded". Not every patient is in every file, and some labels are wrong. This is the
whole job, from the files to predictions for new patients. The tutorial does the same on the command line.

The patients are made up, in place of real ones, which may not be shipped.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fuselearn import FitReport, FusionClassifier, TableClassifier

N_PATIENTS, N_HELD_OUT, N_GENES = 240, 80, 30


def write_files(folder, seed=0):
    """Write labels.csv and held_out.csv, rna.csv and clinic.csv; return the patients whose label is wrong."""
    rng = np.random.default_rng(seed)
    patients = np.array([f"P{number:03d}" for number in range(N_PATIENTS)])
    true = rng.integers(0, 2, N_PATIENTS)
    genes = rng.normal(size=(N_PATIENTS, N_GENES))
    genes[:, :6] += 1.2 * true[:, None]
    rna = pd.DataFrame(genes.round(3), columns=[f"g{number}" for number in range(N_GENES)])
    rna.insert(0, "patient", patients)
    age = (rng.normal(55, 12, N_PATIENTS) + 8 * true).round().astype(int).astype(str)
    crp = rng.gamma(2.0, 2.0 + 4.0 * true, N_PATIENTS).round(1).astype(str)
    crp[rng.choice(N_PATIENTS, 6, replace=False)] = "not recorded"
    clinic = pd.DataFrame(
        {
            "patient": patients,
            "age": age,
            "sex": rng.choice(["f", "m"], N_PATIENTS),
            "diagnosed": pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 1500, N_PATIENTS), unit="D"),
            "crp": crp,
        }
    )
    wrong = np.zeros(N_PATIENTS, dtype=bool)
    wrong[rng.choice(N_PATIENTS - N_HELD_OUT, 12, replace=False)] = True
    labels = pd.DataFrame({"patient": patients, "subtype": np.where(true ^ wrong, "basal", "luminal")})
    labels[:-N_HELD_OUT].to_csv(folder / "labels.csv", index=False)
    labels[-N_HELD_OUT:].to_csv(folder / "held_out.csv", index=False)
    # In an order of their own, and not of all patients.
    rna[rng.uniform(size=N_PATIENTS) < 0.85].sample(frac=1, random_state=seed).to_csv(folder / "rna.csv", index=False)
    clinic[rng.uniform(size=N_PATIENTS) < 0.95].to_csv(folder / "clinic.csv", index=False)
    return set(patients[wrong])


folder = Path(tempfile.mkdtemp())
wrong_labels = write_files(folder)

# %%
# Read and join
# -------------
# A patient who is not in a file lacks its columns: that view is missing. Prefixes tell the views apart.

labels = pd.read_csv(folder / "labels.csv", index_col="patient")["subtype"]
held_out = pd.read_csv(folder / "held_out.csv", index_col="patient")["subtype"]
rna = pd.read_csv(folder / "rna.csv", index_col="patient").add_prefix("rna_")
clinic = pd.read_csv(folder / "clinic.csv", index_col="patient", parse_dates=["diagnosed"], na_values="not recorded")
everything = rna.join(clinic.add_prefix("clinic_"), how="outer")
table, new = everything.reindex(labels.index), everything.reindex(held_out.index)
print(f"{len(table)} patients, of whom {table['rna_g0'].isna().sum()} lack rna")

# %%
# Fit, and ask how good it is
# ---------------------------

views = {"rna": "rna_*", "clinic": "clinic_*"}
model = TableClassifier(FusionClassifier(random_state=0), views=views).fit(table, labels)
print(f"out-of-fold accuracy: {model.model_.out_of_sample_score_:.3f}, against labels some of which are wrong")
accuracy = model.score(new, held_out)

# %%
# Labels that look wrong, and why a patient is what he is
# -------------------------------------------------------

suspects = [labels.index[record["row"]] for record in model.suspects(12)]
hits = len(wrong_labels.intersection(suspects))
explanation = model.explain(new[:1])

# %%
# New patients, some without rna
# ------------------------------
# A table that lacks all columns of a view is accepted: the view is missing.

without_rna = model.score(new[[name for name in new if name.startswith("clinic_")]], held_out)
page = folder / "report.html"
FitReport(model, new, held_out, ids=held_out.index).save(page)

# %%
# What came out
# -------------

print(f"accuracy on {len(new)} new patients: {accuracy:.3f}, without rna {without_rna:.3f}")
for view, share in zip(model.view_names_, model.view_importances_):
    print(f"  share of {view}: {share:.0%}")
print(f"{hits} of the 12 most suspect labels are wrong")
print(f"the report has {page.stat().st_size / 1000:.0f} kB")
figure, axes = plt.subplots(figsize=(6, 2.5), layout="constrained")
explanation.plot(0, ax=axes)
plt.show()
