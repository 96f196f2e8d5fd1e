// Losses over sentence vectors and their gradients, with the names, formulas and defaults of sentence-transformers
// (sentence_transformers/losses, 6.2) and of SetFit (SupConLoss). In double precision, as ops/losses.h.
#pragma once

#include <cstdint>
#include <span>

#include "ops/losses.h"

namespace wattn {

// x: [rows, cols], the vectors; dx: as x, written; null: not wanted. Cosines are of the vectors scaled to unit length.

// MultipleNegativesRankingLoss (arXiv 1705.00652): the first `anchors` rows are anchors, the others candidates, of which candidate
// i is anchor i's own: cross entropy of scale * cosine over all candidates.
double multiple_negatives_ranking_loss(const LossInput& x, std::int64_t anchors, double scale, float* dx);

// The next three: the first half of the rows are first sentences, the second half their partners.

// CoSENTLoss: ln(1 + sum of e^(scale * (cosine_i - cosine_j)) over pairs i, j where score_i < score_j).
double cosent_loss(const LossInput& x, std::span<const float> scores, double scale, float* dx);
// CosineSimilarityLoss: the mean of (cosine - score)^2.
double cosine_similarity_loss(const LossInput& x, std::span<const float> scores, float* dx);
// ContrastiveLoss: with the distance d = 1 - cosine, half the mean of d^2 where the label is 1, max(0, margin - d)^2 where it is 0.
double contrastive_loss(const LossInput& x, std::span<const float> labels, double margin, float* dx);

// BatchAllTripletLoss: the mean, over the triplets of rows that lose, of max(0, |a - p| - |a - n| + margin), Euclidean distances;
// a and p have one label, n another.
double batch_all_triplet_loss(const LossInput& x, std::span<const std::int32_t> labels, double margin, float* dx);

// SupConLoss (arXiv 2004.11362): the mean, over the rows with another of their label, of -ln softmax(cosines / temperature) over
// the other rows, averaged over those of its label. 0 if there are none.
double sup_con_loss(const LossInput& x, std::span<const std::int32_t> labels, double temperature, float* dx);

}  // namespace wattn
